'use strict'
// What a command says about itself. Help, completion and the reference page are made from this, and from nothing else.

const { Argument, Command, InvalidArgumentError, Option } = require('commander')
const { misuse } = require('@millrace/errors')
const { findMissing, missingError } = require('./packages')

/**
 * @typedef {object} ArgumentDefinition
 * @property {string} name
 * @property {string} description
 * @property {'file' | 'seq' | 'text'} [kind]  what a shell completes; `file` by default
 * @property {boolean} [isOptional]
 * @property {boolean} [isList]  takes all that follow
 * @property {readonly string[]} [choices]
 * @property {(text: string) => unknown} [parse]  throws misuse
 */

/**
 * @typedef {object} OptionDefinition
 * @property {string} flags  as commander has them: `-n, --lines <count>`
 * @property {string} description
 * @property {(text: string) => unknown} [parse]  throws misuse
 * @property {readonly string[]} [choices]
 * @property {unknown} [default]
 * @property {boolean} [isList]  may be given more than once
 * @property {'file'} [kind]  what a shell completes as its value
 */

/**
 * @typedef {object} Call
 * @property {Record<string, any>} args  by the names of the arguments
 * @property {Record<string, any>} options
 * @property {import('./shell').Shell} shell
 */

/**
 * @typedef {object} Definition
 * @property {string} name
 * @property {string} summary  completes the sentence "this command ..."
 * @property {string} [details]  what the summary has no room for, in whole sentences
 * @property {ReadonlyArray<import('./packages').PackageName>} [needs]  packages that do not come with millrace
 * @property {readonly ArgumentDefinition[]} arguments
 * @property {readonly OptionDefinition[]} options
 * @property {ReadonlyArray<readonly [line: string, meaning: string]>} examples
 * @property {(call: Call) => Promise<number | void>} run  gives the exit code, if it is not 0
 */

/** Also on a narrow terminal nothing is wider than it. */
const HELP = { minWidthToWrap: 16 }

/** @type {readonly OptionDefinition[]} */
const commonOptions = [{ flags: '--debug', description: 'print the stack of an error' }]

/**
 * @param {Definition} definition
 * @param {(definition: Definition, args: Record<string, any>, options: Record<string, any>) => Promise<void>} run
 * @returns {Command}
 */
function createCommand (definition, run) {
  const { name, summary, details = '', needs = [], examples } = definition
  const command = new Command(name).summary(summary).helpOption('-h, --help', 'print this help').configureHelp(HELP)
  command.description(`${summary[0].toUpperCase()}${summary.slice(1)}.${details && `\n\n${details}`}`)
  for (const argument of definition.arguments) command.addArgument(createArgument(argument))
  for (const option of [...definition.options, ...commonOptions]) command.addOption(createOption(option))
  const lines = examples.map(([line, meaning]) => `  $ ${line}\n      ${meaning}`)
  command.addHelpText('after', `\nExample${lines.length === 1 ? '' : 's'}:\n${lines.join('\n')}`)
  const missing = findMissing(needs)
  // A package that is missing may be the one that knows the options.
  if (missing.length > 0) command.allowUnknownOption().allowExcessArguments()
  return command.action((...given) => {
    if (missing.length > 0) throw missingError(missing, `millrace ${name}`)
    // The arguments as they were declared, then the options, then the command itself.
    const args = Object.fromEntries(definition.arguments.map(({ name }, index) => [name, given[index]]))
    return run(definition, args, given[definition.arguments.length])
  })
}

/** @param {ArgumentDefinition} definition */
function createArgument ({ name, description, kind = 'file', isOptional = false, isList = false, choices, ...others }) {
  const parse = others.parse ?? (kind === 'file' ? parsePath : undefined)
  const shown = isList ? `${name}...` : name
  const argument = new Argument(isOptional ? `[${shown}]` : `<${shown}>`, description)
  if (choices) argument.choices(choices)
  if (parse) argument.argParser(parserOf(parse, isList))
  return argument
}

/** @param {string} text */
function parsePath (text) {
  // As of a variable that is not set.
  if (text === '') throw misuse('a path is expected, and it is empty')
  return text
}

/** @param {OptionDefinition} definition */
function createOption ({ flags, description, parse, choices, isList = false, ...others }) {
  const option = new Option(flags, description)
  if ('default' in others) option.default(others.default)
  if (choices) option.choices(choices)
  if (parse) option.argParser(parserOf(parse, isList))
  return option
}

/**
 * @param {(text: string) => unknown} parse
 * @param {boolean} isList
 * @returns {(text: string, before: any) => any}
 */
function parserOf (parse, isList) {
  return (text, before) => {
    try {
      const value = parse(text)
      return isList ? [...(before ?? []), value] : value
    } catch (/** @type {any} */ err) {
      if (err.code !== 'ERR_INVALID_ARGUMENT') throw err
      throw new InvalidArgumentError(err.message)
    }
  }
}

exports.HELP = HELP
exports.commonOptions = commonOptions
exports.createCommand = createCommand
