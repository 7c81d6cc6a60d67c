import { Argument, type Command, type Option } from 'commander';
import { type CommandContext, describedCommand } from './command-context.ts';
import { defaultOf } from './command-group.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The `completion` command. `program` is a function, because the command tree contains this command itself. */
export function completionCommand(context: CommandContext, program: () => Command): Command {
  const command = describedCommand('completion', {
    summary: 'Print a shell completion script',
    details: [
      'bash: put  source <(tillway completion bash)  into ~/.bashrc',
      'zsh:  put  source <(tillway completion zsh)  into ~/.zshrc',
      'fish: tillway completion fish > ~/.config/fish/completions/tillway.fish',
    ].join('\n'),
    examples: SHELLS.map((shell) => `tillway completion ${shell}`),
    remote: false,
    data: false,
  }).addArgument(new Argument('<shell>', 'shell of the script').choices(SHELLS));
  return command.action((shell: Shell) => context.terminal.write(SCRIPTS[shell](placesIn(program()))));
}

/** Completions after a command. */
interface Place {
  /** Name of the command, such as `payments list`; empty for the program itself. */
  path: string;
  /** Names of subcommands, or values of an operand. */
  words: Word[];
  /** True if the operand is a file. */
  takesFile: boolean;
  options: (Word & { value: 'none' | 'file' | 'any' | readonly string[] })[];
}

interface Word {
  text: string;
  meaning: string;
}

function placesIn(command: Command, path = ''): Place[] {
  const { commands, registeredArguments: operands } = command;
  // A group accepts the options of its default command.
  const optioned = defaultOf(command) ?? command;
  const place: Place = {
    path,
    words: [
      ...commands.map((each) => ({ text: each.name(), meaning: each.summary() })),
      ...operands.flatMap(({ argChoices = [] }) => argChoices.map((text) => ({ text, meaning: '' }))),
    ],
    takesFile: operands.some((operand) => operand.name() === 'file'),
    options: optioned
      .createHelp()
      .visibleOptions(optioned)
      .map((option) => ({ text: option.long!, meaning: option.description, value: valueOf(option) })),
  };
  return [place, ...commands.flatMap((each) => placesIn(each, `${path} ${each.name()}`.trim()))];
}

function valueOf({ required, flags, argChoices }: Option): Place['options'][number]['value'] {
  if (!required) return 'none';
  return argChoices ?? (/<file/.test(flags) ? 'file' : 'any');
}

const SCRIPTS: Record<Shell, (places: readonly Place[]) => string> = { bash, zsh, fish };

// The scripts are static: completion neither starts this program nor executes the typed words.

function bash(places: readonly Place[]): string {
  const reply = (choices: readonly string[]) => `COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$current"))`;
  const files = 'compopt -o default 2>/dev/null';
  const values = places.flatMap(({ path, options }) =>
    options.flatMap(({ text, value }): [string, string][] => {
      if (value === 'none') return [];
      const choices = value === 'file' ? files : value === 'any' ? ':' : reply(value);
      return [[`${path} ${text}`, `${choices}; return`]];
    }),
  );
  const words = places.map(({ path, words, takesFile, options }): [string, string] => {
    const choices = takesFile ? files : reply(words.map(({ text }) => text));
    return [path, `[[ $current == -* ]] && ${reply(options.map(({ text }) => text))} || ${choices}`];
  });
  const paths = places.flatMap(({ path }) => (path === '' ? [] : [quoted(path)]));
  return `# completion of tillway: source <(tillway completion bash)
_tillway() {
  local at='' word i current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  # bash treats the = of --kind=card as a separate word
  [[ $before == '=' ]] && before=\${COMP_WORDS[COMP_CWORD-2]}
  [[ $current == '=' ]] && current=''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${at:+$at }\${COMP_WORDS[i]}"
    case $word in
      ${paths.join('|')}) at=$word ;;
    esac
  done
  case "$at $before" in
${casesOf(values)}  esac
  case $at in
${casesOf(words)}  esac
}
complete -F _tillway tillway
`;
}

/** The zsh script loads the bash script through bashcompinit. */
function zsh(places: readonly Place[]): string {
  return `autoload -Uz compinit bashcompinit && compinit && bashcompinit\n${bash(places)}`;
}

function casesOf(branches: readonly (readonly [pattern: string, command: string])[]): string {
  const byCommand = Map.groupBy(branches, ([, command]) => command);
  return Array.from(byCommand, ([command, same]) => {
    return `    ${same.map(([pattern]) => quoted(pattern)).join('|')}) ${command} ;;\n`;
  }).join('');
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words, takesFile, options }) => {
    const start = `complete -c tillway -n ${fishQuoted(`__tillway_at ${fishQuoted(path)}`)}`;
    const described = (meaning: string) => (meaning === '' ? '' : ` -d ${fishQuoted(meaning)}`);
    return [
      ...(takesFile ? [`${start} -F`] : []),
      ...words.map(({ text, meaning }) => `${start} -a ${text}${described(meaning)}`),
      ...options.map(({ text, meaning, value }) => {
        const values = { none: '', file: ' -r -F', any: ' -x' };
        const takes = typeof value === 'string' ? values[value] : ` -x -a ${fishQuoted(value.join(' '))}`;
        return `${start} -l ${text.slice(2)}${takes}${described(meaning)}`;
      }),
    ];
  });
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => fishQuoted(path));
  return `# fish completion of tillway: tillway completion fish > ~/.config/fish/completions/tillway.fish
function __tillway_at
  set -l at ''
  set -l words (commandline -opc)
  for word in $words[2..-1]
    set -l next (string trim -- "$at $word")
    contains -- $next ${paths.join(' ')}; and set at $next
  end
  test "$at" = "$argv[1]"
end
complete -c tillway -f
${lines.join('\n')}
`;
}

/** The text quoted as one word for bash or zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}
