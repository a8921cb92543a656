'use strict'
// The reference page of the command, made from what the commands say about themselves.

const { commonOptions } = require('./definition')

/** @typedef {import('./definition').Definition} Definition */

const HEAD = `# The command

\`millrace\` reads, checks and changes logs from the shell. It comes with the package
[millrace](../../packages/millrace/README.md): \`npx millrace\`.

This page is made from the commands themselves: \`npm run reference\` writes it.

- **Exit codes.** 0: all well. 1: a problem was found, such as damage, a record that is not JSON, or, for a command that
  writes, a log that another process has open for writing. 2: misuse, such as an unknown option or a path that leads
  nowhere. A signal ends a command as usual: a shell shows 130 after SIGINT and 143 after SIGTERM, also for \`serve\` and
  \`tail -f\`.
- **Standard input.** Where a command reads a log, \`-\` stands for a log on standard input.
- **Filters.** \`--where\` takes a condition, or several with \`or\` and \`and\` between them; \`and\` binds more
  tightly. If it is given more than once, all must hold. Quote what you give, because \`<\`, \`>\` and \`!\` mean something to a shell.

  | filter | it holds if |
  |---|---|
  | \`path=value\` | the value at the path equals this one |
  | \`path!=value\` | the value differs, or nothing is at the path |
  | \`path>value\` | the value is a number greater than this number, or a text that sorts after this text |
  | \`path>=value\` | the value is greater or equal, in the same order |
  | \`path<value\` | the value is less |
  | \`path<=value\` | the value is less or equal |
  | \`path^=text\` | the value is a text that begins with this text |
  | \`path~=value\` | the value is an array with this element |
  | \`path\` | something is at the path |
  | \`!path\` | nothing is at the path |

  Dots join the steps of a path, and whole numbers are indexes of arrays: \`mentions.0.link\`. A key with a dot or an
  operator in it, or one with a space that stands alone, is written as a JSON string, as in \`'content."a.b"=1'\`. If the right side parses as JSON, it is JSON,
  otherwise a text: \`n=1\` compares with a number, \`n="1"\` and \`n=one\` with texts. The empty text
  is \`n=""\`. A text that begins with an operator, or has a condition in it, is written in quotes: \`'title="a or b=c"'\`.
  At a path that ends in \`level\`, the name of a level means the level, as in \`level>=warn\`; a name in quotes is a text.
  [@millrace/where](../../packages/where/README.md) says how values are ordered.
- **Values that JSON does not have.** Records of the codecs \`binary\` and \`bytes\` may hold more than JSON can say. Such
  a value is printed as an object with one key, and \`append\` and \`import\` read it back: \`{"$bytes":"aGk="}\` (base64),
  \`{"$bigint":"1"}\`, \`{"$date":"2026-01-01T00:00:00.000Z"}\`, \`{"$number":"NaN"}\`, \`{"$undefined":true}\`. A record of
  bytes that is UTF-8 is printed as a text.
- **Terminals.** What a record holds never reaches a terminal as a command: control characters and marks of
  bidirectional text are printed as escapes, such as \`\\u001b\`. \`--raw\` into a file or a pipe is the only output with
  such characters. Colours and progress bars are for terminals only; \`NO_COLOR\` turns colours off.
- **Times and levels.** \`--since\`, \`--until\`, \`--level\` and \`--pretty\` know the records of many loggers:
  [@millrace/where](../../packages/where/README.md#times-and-levels) says which. A time without a zone is in UTC, in records
  and on the command line, whatever the zone of the machine; \`--pretty\` prints UTC. Records are compared one by one, so
  their times may be out of order, and clocks may have been wrong. A record without a time passes neither \`--since\` nor
  \`--until\`, and one without a level does not pass \`--level\`: the command says on standard error how many of the
  records that it has read it left out for that.
- **Text.** \`append\` and \`import\` take UTF-8, and refuse a line that is not valid UTF-8. A byte-order mark before a
  line is ignored.
- **Interruption.** After SIGINT or SIGTERM no file is half-written. If \`convert\` is run again, it continues where
  it was.
`

/**
 * @param {readonly Definition[]} definitions
 * @returns {string}
 */
function createReference (definitions) {
  const rows = definitions.map(({ name, summary }) => `| [${name}](#${name}) | ${cell(summary)} |`)
  return [HEAD, `| command | |\n|---|---|\n${rows.join('\n')}\n`, ...definitions.map(describe)].join('\n')
}

/** @param {Definition} definition */
function describe (definition) {
  const { name, summary, details, examples } = definition
  const parameters = definition.arguments.map(({ name, isOptional, isList }) => {
    const shown = `${name}${isList ? '...' : ''}`
    return isOptional ? `[${shown}]` : `<${shown}>`
  })
  const rows = [
    ...definition.arguments.map(({ name, description, choices }) => [name, withChoices(description, choices)]),
    ...[...definition.options, ...commonOptions].map(({ flags, description, choices, default: byDefault }) => {
      return [flags, `${withChoices(description, choices)}${byDefault === undefined ? '' : `. Default: ${byDefault}`}`]
    })
  ]
  return [
    `## ${name}\n`,
    `\`millrace ${name} ${['[options]', ...parameters].join(' ')}\`: ${summary}.${details ? ` ${details}` : ''}\n`,
    `| | |\n|---|---|\n${rows.map(([left, right]) => `| \`${left}\` | ${cell(right)} |`).join('\n')}\n`,
    `\`\`\`sh\n${examples.map(([line, meaning]) => `${line}  # ${meaning}`).join('\n')}\n\`\`\`\n`
  ].join('\n')
}

/** @param {string} description @param {readonly string[]} [choices] */
function withChoices (description, choices = []) {
  const codes = choices.map((choice) => `\`${choice}\``)
  // A description that explains the choices names them.
  if (codes.every((code) => description.includes(code))) return description
  return `${description}. One of ${codes.join(', ')}`
}

/** @param {string} text */
function cell (text) {
  return text.replaceAll('|', '\\|').replace(/(?<!`)<(?!`)/g, '&lt;')
}

exports.createReference = createReference
