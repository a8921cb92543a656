'use strict'
// From the words on the command line to an exit code: 0 all well, 1 a problem was found, 2 misuse.

const { setImmediate } = require('node:timers')
const { Command, CommanderError } = require('commander')
const { escapeControls } = require('@millrace/flow')
const { version } = require('../../package.json')
const { commandNames, loadCommand } = require('./commands')
const { HELP, createCommand } = require('./definition')
const { describeFailure, isMisuse } = require('./failures')
const { Shell, OutputClosed } = require('./shell')
const { nameInput } = require('./spool')

const EXIT = Object.freeze({ problem: 1, misuse: 2 })

/** @typedef {import('./definition').Definition} Definition */

/**
 * @param {Command} program
 * @param {readonly string[]} words  without the program's own
 * @param {(definition: Definition, args: Record<string, any>, options: Record<string, any>) => Promise<void>} run
 */
function addCommands (program, words, run) {
  const wanted = commandNames.includes(words[0]) ? [words[0]] : commandNames
  for (const name of wanted) program.addCommand(createCommand(loadCommand(name), run))
}

/** The program without its commands. */
function createProgram () {
  return new Command('millrace')
    .description('Reads, checks and changes append-only logs.')
    .usage('<command> [options]')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .configureHelp({ ...HELP, showGlobalOptions: false, subcommandTerm: (command) => command.name() })
    .addHelpText('after', '\nExample:\n  $ millrace cat events.log --where type=post --limit 10\n\n' +
      'Exit codes: 0 all well, 1 a problem was found, 2 misuse.\nFILE may be - for standard input.')
}

/** @param {NodeJS.Process} process */
async function main (process) {
  const words = process.argv.slice(2)
  const shell = new Shell(process)
  const program = createProgram()
  let code = 0
  addCommands(program, words, async ({ run }, args, options) => {
    code = (await run({ args, options, shell })) ?? 0
  })
  prepare(program, shell)
  try {
    if (words.length === 0) program.help({ error: true })
    // Of an unknown command commander prints the help of all, and no word about it.
    const isUnknown = words[0] === 'help' && words.length > 1 && ![...commandNames, 'help'].includes(words[1]) && !words[1].startsWith('-')
    await program.parseAsync(isUnknown ? words.slice(1) : words, { from: 'user' })
    // What the command found stays found if nobody reads it.
    await shell.flush().catch(ignoreClosed)
    // The last write may have failed after the command.
    await new Promise((resolve) => setImmediate(resolve))
    if (shell.outputError !== null) throw shell.outputError
  } catch (err) {
    code = report(shell.outputError ?? err, shell, words.includes('--debug'))
  }
  shell.end(code)
}

/** @param {unknown} err */
function ignoreClosed (err) {
  if (!(err instanceof OutputClosed)) throw err
}

/**
 * Commands added to a program do not take over what it was told about errors and output.
 * @param {Command} program
 * @param {Shell} shell
 */
function prepare (program, shell) {
  for (const command of [program, ...program.commands]) {
    command.exitOverride()
    command.configureOutput({
      writeOut: (text) => shell.writeNow(text),
      writeErr: (text) => shell.complain(text),
      outputError: (text, write) => write(escapeLines(inOurWords(text)))
    })
    if (command !== program) command.showHelpAfterError(`Run millrace ${command.name()} --help to see what there is.`)
    else command.showHelpAfterError('Run millrace --help to see the commands.')
  }
}

/** @param {string} text  of commander */
function inOurWords (text) {
  return text.replace(/^error: /, 'millrace: ').replace(/command-argument value ('.*') is invalid for argument ('.*?')\./, 'argument $1 is invalid for $2.')
}

/**
 * @param {unknown} err
 * @param {Shell} shell
 * @param {boolean} isDebug
 * @returns {number}  the exit code
 */
function report (err, shell, isDebug) {
  // Whoever read the output has seen enough, or the user has.
  if (err instanceof OutputClosed || (shell.signal.aborted && err !== shell.outputError)) return 0
  if (err instanceof CommanderError) return err.exitCode === 0 ? 0 : EXIT.misuse
  shell.complain(`${escapeControls(`millrace: ${nameInput(describeFailure(err))}`)}\n`)
  if (isDebug && err instanceof Error) shell.complain(`${escapeLines(describeStack(err))}\n`)
  return isMisuse(err) ? EXIT.misuse : EXIT.problem
}

/** @param {Error} err */
function describeStack (err) {
  /** @type {string[]} */
  const stacks = []
  for (let at = /** @type {unknown} */ (err); at instanceof Error && stacks.length < 10; at = at.cause) {
    stacks.push(`${stacks.length > 0 ? 'because of ' : ''}${at.stack}`)
  }
  return stacks.join('\n')
}

/**
 * A name of a file, or a word of the command line, may hold anything.
 * @param {string} text
 */
function escapeLines (text) {
  return text.split('\n').map(escapeControls).join('\n')
}

exports.main = main
exports.createProgram = createProgram
