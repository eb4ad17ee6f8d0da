"""Names that are never written without asking, in whatever spelling; and ordinary ones that look like them."""

from cogency_tui.workspace.protected_names import protected
from tests.cases import cases

PROTECTED = [
    *(".git/config", "deep/.git/hooks/pre-commit", ".hg/hgrc", ".jj/repo/config.toml", ".svn/wc.db"),
    *(
        ".husky/pre-commit",
        ".githooks/post-checkout",
        ".git-hooks/x",
        ".pre-commit-config.yaml",
        "lefthook.yml",
    ),
    *(
        ".cogency/config.toml",
        ".config/cogency-tui/rules.toml",
        "Application Support/cogency-tui/config.toml",
    ),
    *(".local/share/cogency-tui/cogency.db", ".ssh/config", ".gitmodules", ".gitconfig", ".lfsconfig"),
    *("AGENTS.md", "src/AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", "WARP.md"),
    *(".cursorrules", ".windsurfrules", ".clinerules", ".clinerules/rules.md", ".roorules", ".goosehints"),
    *(".github/copilot-instructions.md", ".github/instructions/x.instructions.md", ".github/prompts/x.md"),
    *(".aider.conf.yml", ".claude/settings.json", ".cursor/rules/a.mdc", ".codex/config.toml"),
    *(".windsurf/rules/a.md", ".roo/rules.md", ".gemini/settings.json", ".opencode/agent/a.md"),
    *(".mcp.json", "mcp.json", "opencode.json", ".rules"),
    *(".vscode/tasks.json", ".vscode/settings.json", "shop.code-workspace", ".idea/workspace.xml"),
    *(".zed/tasks.json", ".devcontainer/devcontainer.json", ".devcontainer.json", ".exrc", ".nvim.lua"),
    *(
        ".dir-locals.el",
        ".envrc",
        "mise.toml",
        ".bashrc",
        ".config/fish/config.fish",
        ".config/fish/conf.d/a.fish",
    ),
    *(".gdbinit", ".Rprofile", ".npmrc", ".yarnrc.yml", "sitecustomize.py", "lib/x.pth", ".tmux.conf"),
    *(".claude/data/run.sh", ".claude/data", ".claude/logs/CLAUDE.md", ".claude/data/mcp.json"),
    *(".claude/agents/logs/a.json", ".claude/data/.vscode/settings.json", ".claude/logs/x/.git/a.json"),
    *(".claude/data/.github/prompts/a.txt", ".claude/settings.local.json", ".claude/data.json"),
    *(".config/autostart/x.desktop", ".config/systemd/user/x.service", "Library/LaunchAgents/x.plist"),
]


def _spellings(path: str) -> list[str]:
    """The same path to one file system or another."""
    return [
        path.upper(),
        path.lower(),
        f"{path}.",
        f"{path} ",
        path.replace("e", "e\u200d").replace("g", "\ufeffg"),
        path.replace("s", "\uff53").replace("g", "\uff47"),
        "/".join(f"{part}::$INDEX_ALLOCATION" for part in path.split("/")),
    ]


@cases("path", PROTECTED)
def test_what_runs_or_instructs_unasked_is_protected(path: str) -> None:
    assert protected(path.split("/"))
    assert protected(["packages", *path.split("/")])
    for spelling in _spellings(path):
        assert protected(spelling.split("/")), spelling


@cases(
    "path",
    [
        *(
            "git/config",
            ".gitignore",
            ".gitattributes",
            "src/agents.py",
            "docs/agents",
            "README.md",
            "Makefile",
        ),
        *("package.json", ".github/workflows/ci.yml", ".github/README.md", "cogency-tui/README.md"),
        *(".claude/data/sessions/7.json", ".claude/logs/hook.log", ".claude/sessions/a.jsonl"),
        *(".CLAUDE/Logs/A.JSON", ".claude/todos/a/b.txt", ".claude/cache/a.csv"),
        *("fish/README.md", "systemd/unit.service", "share/README.md", "autostart/x", "vscode/tasks.json"),
        *(
            "rules",
            "config.toml",
            ".env",
            "pyproject.toml",
            "x.pth.txt",
            "claude.md.bak",
            "instructions.md",
            "run/x",
        ),
    ],
)
def test_what_one_runs_on_purpose_or_only_looks_like_it_is_not(path: str) -> None:
    assert protected(path.split("/")) == ""


def test_nothing_is_protected_by_no_name() -> None:
    assert protected([]) == ""
    assert protected([":"]) == ""
