// `teal completion` and `teal man`: what shells complete and what `man teal` shows, made from the definitions of the commands
// themselves, so that nothing is said twice.
//
// A script of completion knows commands, their commands and options; of values it knows files.

import { Command } from 'commander'
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

const shells = {
  bash(program: Command): string {
    const cases = all(program).map(({ path, command }) => `    "${path}") words="${words(command).join(' ')}" ;;`)
    return `# bash completion of teal: teal completion bash > /etc/bash_completion.d/teal
_teal() {
  local word="\${COMP_WORDS[COMP_CWORD]}" known="" words="${words(program).join(' ')}" at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in -*) ;; *) known="\${known:+$known }\${COMP_WORDS[at]}" ;; esac
    case "$known" in
${cases.join('\n')}
    esac
  done
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _teal teal`
  },
  zsh(program: Command): string {
    const cases = all(program).map(({ path, command }) => `      "${path}") found=(${words(command).join(' ')}) ;;`)
    return `#compdef teal
# zsh completion of teal: teal completion zsh > /usr/share/zsh/site-functions/_teal
_teal() {
  local -a typed found
  local known="" word
  typed=("\${(@)words[2,CURRENT-1]}")
  found=(${words(program).join(' ')})
  for word in $typed; do
    [[ $word == -* ]] || known="\${known:+$known }$word"
    case "$known" in
${cases.join('\n')}
    esac
  done
  compadd -- $found
  _files
}
compdef _teal teal`
  },
  fish(program: Command): string {
    const top = program.commands.map(one => one.name()).join(' ')
    const lines = all(program).flatMap(({ path, command }) => {
      const parts = path.split(' ')
      const last = parts.at(-1) ?? ''
      const above = parts.slice(0, -1)
      const when =
        above.length === 0
          ? `not __fish_seen_subcommand_from ${top}`
          : `__fish_seen_subcommand_from ${above.join(' ')}; and not __fish_seen_subcommand_from ${last}`
      const own = parts.map(part => `__fish_seen_subcommand_from ${part}`).join('; and ')
      return [
        `complete -c teal -n '${when}' -a ${last} -d '${plain(command.description())}'`,
        ...command.options.flatMap(({ long, short, description }) => {
          if (long === undefined || command.commands.length > 0) return []
          const brief = short === undefined ? '' : ` -s ${short.slice(1)}`
          return [`complete -c teal -n '${own}' -l ${long.slice(2)}${brief} -d '${plain(description)}'`]
        }),
      ]
    })
    return ['# fish completion of teal: teal completion fish > ~/.config/fish/completions/teal.fish', ...lines].join(
      '\n',
    )
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
      '0: done. 1: refused, or something is wrong and was named. 2: a wrong command line or setting.',
    ],
  ].join('\n')
}

/** Both as commands of the program they tell of. */
export function manualCommands(program: Command): Command[] {
  const out = (text: string) => void process.stdout.write(`${text}\n`)
  return [
    new Command('completion')
      .description('Print what a shell needs to complete commands')
      .argument('<shell>', 'bash, zsh or fish')
      .addHelpText('after', '\nExample:\n  teal completion bash > /etc/bash_completion.d/teal')
      .action((shell: string) => out(completionOf(program, shell))),
    new Command('man')
      .description('Print the manual page')
      .addHelpText('after', '\nExample:\n  teal man > /usr/local/share/man/man1/teal.1')
      .action(() => out(manualOf(program))),
  ]
}
