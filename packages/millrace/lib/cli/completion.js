'use strict'
// Scripts that complete the words of the command line, made from what the commands say about themselves.

const { commonOptions } = require('./definition')

const HELP = { flags: '-h, --help', description: 'print the help of the command' }

/**
 * @typedef {import('./definition').Definition} Definition
 * @typedef {object} Switch
 * @property {string | null} short  one letter
 * @property {string} long  without its dashes
 * @property {boolean} takesValue
 * @property {readonly string[]} choices  of its value
 * @property {string} description
 */

/**
 * @param {Definition} definition
 * @returns {Switch[]}
 */
function switchesOf ({ options }) {
  return [...options, ...commonOptions, HELP].map(({ flags, description, ...option }) => {
    const [, short = null, long] = /** @type {RegExpExecArray} */ (/^(?:-(\w), )?--([\w-]+)/.exec(flags))
    const { choices = [] } = /** @type {{ choices?: readonly string[] }} */ (option)
    return { short, long, takesValue: flags.includes('<'), choices, description }
  })
}

/** @param {string} text */
function quote (text) {
  return `'${text.replaceAll('\'', '\'\\\'\'')}'`
}

/** @param {readonly Definition[]} definitions */
function toBash (definitions) {
  const values = definitions.flatMap((definition) => switchesOf(definition)
    .filter(({ choices }) => choices.length > 0)
    .map(({ long, choices }) => `    '${definition.name} --${long}') words='${choices.join(' ')}' ;;`))
  const switches = definitions.map((definition) => {
    return `      ${definition.name}) words='${switchesOf(definition).map(({ long }) => `--${long}`).join(' ')}' ;;`
  })
  const choices = definitions.flatMap(({ name, arguments: [first] }) => {
    return first?.choices ? [`    '${name} ${name}') words='${first.choices.join(' ')}' ;;`] : []
  })
  return `# Completion of millrace for bash: source <(millrace completion bash)
_millrace () {
  local word=\${COMP_WORDS[COMP_CWORD]} words=''
  case "\${COMP_WORDS[1]} \${COMP_WORDS[COMP_CWORD-1]}" in
${[...values, ...choices].join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${definitions.map(({ name }) => name).join(' ')} help'
  elif [[ -z $words && $word == -* ]]; then
    case "\${COMP_WORDS[1]}" in
${switches.join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _millrace millrace
`
}

/** @param {readonly Definition[]} definitions */
function toZsh (definitions) {
  const colons = (/** @type {string} */ text) => text.replaceAll(':', '\\:')
  const commands = definitions.map(({ name, summary }) => `    ${quote(`${name}:${colons(summary)}`)}`)
  const cases = definitions.map((definition) => {
    const specs = switchesOf(definition).map(({ short, long, takesValue, choices, description }) => {
      const value = takesValue ? `:value:${choices.length > 0 ? `(${choices.join(' ')})` : ' '}` : ''
      const about = `[${colons(description).replaceAll('[', '\\[').replaceAll(']', '\\]')}]${value}`
      return short ? `      {-${short},--${long}}${quote(about)}` : `      ${quote(`--${long}${about}`)}`
    })
    const [first] = definition.arguments
    specs.push(`      ${quote(first?.choices ? `1:${first.name}:(${first.choices.join(' ')})` : '*:file:_files')}`)
    return `    ${definition.name}) _arguments \\\n${specs.join(' \\\n')} ;;`
  })
  return `#compdef millrace
# Completion of millrace for zsh: source <(millrace completion zsh)
_millrace () {
  local -a commands=(
${commands.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
if [[ $funcstack[1] == _millrace ]]; then
  _millrace "$@"
else
  compdef _millrace millrace
fi
`
}

/** @param {readonly Definition[]} definitions */
function toFish (definitions) {
  const fishQuote = (/** @type {string} */ text) => `'${text.replaceAll('\\', '\\\\').replaceAll('\'', '\\\'')}'`
  const lines = definitions.flatMap((definition) => {
    const { name, summary, arguments: [first] } = definition
    const within = `complete -c millrace -n '__fish_seen_subcommand_from ${name}'`
    return [
      `complete -c millrace -f -n __fish_use_subcommand -a ${name} -d ${fishQuote(summary)}`,
      ...(first?.choices ? [`${within} -f -a ${fishQuote(first.choices.join(' '))}`] : []),
      ...switchesOf(definition).map(({ short, long, takesValue, choices, description }) => {
        const value = choices.length > 0 ? ` -x -a ${fishQuote(choices.join(' '))}` : takesValue ? ' -x' : ''
        return `${within}${short ? ` -s ${short}` : ''} -l ${long}${value} -d ${fishQuote(description)}`
      })
    ]
  })
  return `# Completion of millrace for fish: millrace completion fish | source\n${lines.join('\n')}\n`
}

exports.scripts = { bash: toBash, zsh: toZsh, fish: toFish }
