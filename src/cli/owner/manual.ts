// `teal completion` and `teal man`: what shells complete and what `man teal` shows, made from the definitions of the commands
// themselves, so that nothing is said twice.
//
// A script of completion knows commands, their commands and options; of values it knows files.

import { Command, type Option } from 'commander'
import { version } from '#lib/build-info.ts'
import { Fault } from '#lib/fault.ts'

interface Known {
  /** As it is typed: `user add`. */
  readonly path: string
  readonly command: Command
}

/** Every command, those that have commands before these. */
function all(program: Command, path = ''): Known[] {
  return program.commands.flatMap(command => {
    const own = path === '' ? command.name() : `${path} ${command.name()}`
    return [{ path: own, command }, ...all(command, own)]
  })
}

/** What may follow a command: its commands and its options. */
function words({ commands, options }: Command): string[] {
  return [...commands.map(one => one.name()), ...options.flatMap(one => one.long ?? []), '--help']
}

/** Options that a value follows, wherever they stand: it is no command. */
function valued(program: Command): string[] {
  const options = all(program).flatMap(({ command }) => command.options)
  const takes = (one: Option) => one.required || one.optional
  const bare = new Set(options.filter(one => !takes(one)).flatMap(({ long }) => long ?? []))
  const names = options.filter(takes).flatMap(({ long, short }) => [long ?? [], short ?? []].flat())
  return [...new Set(names)].filter(name => !bare.has(name)).toSorted()
}

const shells = {
  bash(program: Command): string {
    const cases = all(program).map(({ path, command }) => `    "${path}") words="${words(command).join(' ')}" ;;`)
    return `# bash completion of teal: teal completion bash > /etc/bash_completion.d/teal
_teal() {
  local word="\${COMP_WORDS[COMP_CWORD]}" known="" words="${words(program).join(' ')}" at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in
    ${valued(program).join('|')}) ((at++)) ;;
    -*) ;;
    *) known="\${known:+$known }\${COMP_WORDS[at]}" ;;
    esac
    case "$known" in
${cases.join('\n')}
    esac
  done
  COMPREPLY=()
  ((at > COMP_CWORD)) || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  [ \${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
complete -o filenames -F _teal teal`
  },
  zsh(program: Command): string {
    const cases = all(program).map(({ path, command }) => `      "${path}") found=(${words(command).join(' ')}) ;;`)
    return `#compdef teal
# zsh completion of teal: teal completion zsh > /usr/share/zsh/site-functions/_teal
_teal() {
  local -a found
  local known="" at
  found=(${words(program).join(' ')})
  for ((at = 2; at < CURRENT; at++)); do
    case "$words[at]" in
      ${valued(program).join('|')}) ((at++)) ;;
      -*) ;;
      *) known="\${known:+$known }$words[at]" ;;
    esac
    case "$known" in
${cases.join('\n')}
    esac
  done
  ((at > CURRENT)) && { _files; return }
  compadd -- $found || _files
}
if [ "$funcstack[1]" = "_teal" ]; then _teal "$@"; else compdef _teal teal; fi`
  },
  fish(program: Command): string {
    const lines = all(program).flatMap(({ path, command }) => {
      const parts = path.split(' ')
      const above = parts.slice(0, -1).join(' ')
      const options = command.commands.length > 0 ? [] : command.options
      return [
        `complete -c teal -n '__teal_is "${above}"' -a ${parts.at(-1)} -d '${plain(command.description())}'`,
        ...(command.commands.length > 0 ? [] : [`complete -c teal -n '__teal_begins "${path}"' -F`]),
        ...options.flatMap(({ long, short, description, required, optional }) => {
          if (long === undefined) return []
          const brief = short === undefined ? '' : ` -s ${short.slice(1)}`
          const value = required || optional ? ' -r -F' : ''
          const name = `-l ${long.slice(2)}${brief}${value}`
          return [`complete -c teal -n '__teal_begins "${path}"' ${name} -d '${plain(description)}'`]
        }),
      ]
    })
    return `# fish completion of teal: teal completion fish > ~/.config/fish/completions/teal.fish
function __teal_known
    set -l known
    set -l skip no
    for word in (commandline -opc)[2..-1]
        if test $skip = yes
            set skip no
            continue
        end
        switch $word
            case ${valued(program).join(' ')}
                set skip yes
            case '-*'
            case '*'
                set -a known $word
        end
    end
    string join ' ' -- $known
end
function __teal_is
    test "$(__teal_known)" = "$argv[1]"
end
function __teal_begins
    string match -q -- "$argv[1] *" "$(__teal_known) "
end
complete -c teal -f
${lines.join('\n')}`
  },
} as const

function plain(text: string): string {
  return text.replaceAll("'", '’')
}

/** What a shell is to read. @throws Fault InputValidationError for a shell that is not known */
function completionOf(program: Command, shell: string): string {
  if (!Object.hasOwn(shells, shell)) {
    throw new Fault('InputValidationError', { text: `There is no completion for ${shell}: bash, zsh or fish` })
  }
  return shells[shell as keyof typeof shells](program)
}

/** The manual page, in the macros of man(7). */
function manualOf(program: Command): string {
  const text = (said: string) =>
    said
      .replaceAll('\\', '\\\\')
      .replaceAll('-', '\\-')
      .replace(/^([.'])/gm, '\\&$1')
  const commands = all(program).flatMap(({ path, command }) => {
    if (command.commands.length > 0) return []
    const usage = command.registeredArguments.map(one => {
      const name = one.variadic ? `${one.name()}...` : one.name()
      return one.required ? `<${name}>` : `[${name}]`
    })
    const options = command.options.flatMap(one => [
      '.RS',
      '.TP',
      `.B ${text(one.flags)}`,
      text(one.description),
      '.RE',
    ])
    return ['.TP', `.B teal ${text([path, ...usage].join(' '))}`, text(command.description()), ...options]
  })
  return [
    `.TH TEAL 1 "" "Teal ${version}" "Teal"`,
    ...['.SH NAME', `teal \\- ${text(program.description())}`],
    ...['.SH SYNOPSIS', '.B teal', '.I command', '[\\fIoptions\\fR] [\\fIarguments\\fR]'],
    ...['.SH COMMANDS', ...commands],
    ...['.SH FILES', '.TP', '.I /etc/teal/teal.toml', 'Settings; \\fBteal config sample\\fR prints all there are.'],
    ...[
      '.SH EXIT STATUS',
      '0: done. 1: refused, or something is wrong and was named. 2: a wrong command line or setting. 3: done, but not with everything, which was named.',
    ],
  ].join('\n')
}

/** Both as commands of the program they tell of. */
export function manualCommands(program: Command): Command[] {
  const out = (text: string) => void process.stdout.write(`${text}\n`)
  return [
    new Command('completion')
      .argument('<shell>', 'bash, zsh or fish')
      .addHelpText('after', '\nExample:\n  teal completion bash > /etc/bash_completion.d/teal')
      .action((shell: string) => out(completionOf(program, shell))),
    new Command('man')
      .addHelpText('after', '\nExample:\n  teal man > /usr/local/share/man/man1/teal.1')
      .action(() => out(manualOf(program))),
  ]
}
