'use strict'
// What the commands share: options, read from a table that --help is made from too; parts that are picked by
// name; where the outputs go, and how a command ends.

const fs = require('node:fs')
const path = require('node:path')
const { parseArgs } = require('node:util')
const { writePages } = require('../figures/pages')
const { saveChart } = require('./charts')
const { alignColumns, formatCsv } = require('./report')
const { MeasureError, UserError, loadParts } = require('./run')

const ROOT = path.join(__dirname, '..', '..')

/**
 * @typedef {object} Option
 * @property {string} [takes]  what --help calls its value; an option without it is a flag
 * @property {string} about
 * @property {string} [standard]  what --help says about its default
 * @property {(text: string | undefined, option: string) => unknown} [read]  from its text, or undefined, to its value
 */

/**
 * @typedef {object} Command
 * @property {string} name  of the script: `bench`
 * @property {string} about  the first lines of --help
 * @property {Record<string, Option>} options  beside `out` and `help`, which every command has
 * @property {number} [budgetMs]  since the start of the process: after it no case runs again, unless --runs is given
 * @property {(options: any) => object} [refine]  what the options come to together
 * @property {Array<[title: string, parts: Array<[name: string, what: string]>]>} parts  the last lines of --help
 * @property {(options: any, generated: string) => Promise<Results>} run  is given the folder for logs that are made
 */

/**
 * @typedef {object} Results
 * @property {string} table  what is printed
 * @property {Record<string, import('./report').Sheet>} sheets  CSV files by their names
 * @property {Record<string, string | undefined>} charts  SVG by their names; undefined where there is nothing to draw
 * @property {Record<string, string>} [pages]  HTML by their names
 * @property {boolean} [isPartial]  if not all was measured that pages show
 * @property {boolean} [isFailure]
 */

/** @type {Record<string, Option>} */
const COMMON = {
  out: { takes: 'DIR', about: 'where data/ and images/ go', standard: 'the root of the repository', read: toPath },
  help: { about: 'this text' }
}

/**
 * Exit codes: 0 done, 1 a failure, 2 a failure that the user can mend.
 * @param {Command} command
 */
async function runCommand (command) {
  // An exit, unlike a signal's default, removes half-made files.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  try {
    const options = readOptions(command, process.argv.slice(2))
    if (options.help) process.stdout.write(formatUsage(command))
    else process.exitCode = await measure(command, options)
  } catch (err) {
    const isExplained = err instanceof UserError || err instanceof MeasureError
    console.error(isExplained ? `${command.name}: ${err.message}` : err)
    process.exitCode = err instanceof UserError ? 2 : 1
  }
}

/**
 * @param {Command} command
 * @param {any} options
 * @returns {Promise<number>}  the exit code
 */
async function measure ({ run }, { out = ROOT, ...options }) {
  const folders = ['data', 'images', path.join('data', 'generated')].map((name) => path.join(out, name))
  try {
    for (const folder of folders) {
      fs.mkdirSync(folder, { recursive: true })
      fs.accessSync(folder, fs.constants.W_OK)
    }
  } catch (err) {
    throw new UserError(`--out: ${/** @type {Error} */ (err).message}`)
  }
  const [data, images, generated] = folders
  const { table, sheets, charts, pages = {}, isPartial, isFailure } = await run(options, generated)
  console.log(table)
  const texts = [
    ...Object.entries(sheets).map(([name, sheet]) => [path.join(data, `${name}.csv`), formatCsv(sheet)]),
    ...Object.entries(pages).map(([name, html]) => [path.join(images, `${name}.html`), html])
  ]
  for (const [file, text] of texts) fs.writeFileSync(file, text)
  const files = texts.map(([file]) => file)
  for (const [name, svg] of Object.entries(charts)) if (svg) files.push(...saveChart(images, name, svg))
  if (files.length > 0) console.log(`written: ${files.map((file) => path.relative(process.cwd(), file)).join(', ')}`)
  if (isPartial) console.log('pages keep their figures, because only a part was measured')
  else for (const page of writePages(out)) console.log(`written: ${page}`)
  return isFailure ? 1 : 0
}

/**
 * @param {Command} command
 * @param {string[]} argv  without node and the script
 * @returns {any}  the value of every option; in `given` the texts, in `command` how to run the same again, and in
 *   `budgetMs` for how long repeats may begin
 * @throws {UserError}  one line that names the option
 */
function readOptions ({ name, options: own, budgetMs = Infinity, refine = () => ({}) }, argv) {
  const options = Object.entries({ ...own, ...COMMON })
  const given = parseWords(argv, Object.fromEntries(options.map(([name, { takes }]) => {
    return [name, { type: takes ? 'string' : 'boolean', ...(name === 'help' && { short: 'h' }) }]
  })))
  const read = options.map(([name, { read }]) => [name, read ? read(given[name], `--${name}`) : given[name] ?? false])
  const values = {
    ...Object.fromEntries(read),
    given,
    command: formatCommand(name, Object.keys(own), given),
    budgetMs: given.runs === undefined ? budgetMs : Infinity
  }
  return { ...values, ...refine(values) }
}

/**
 * @param {string[]} argv
 * @param {any} spec
 * @returns {any}
 */
function parseWords (argv, spec) {
  try {
    return parseArgs({ args: argv, options: spec, strict: true, allowPositionals: false }).values
  } catch (err) {
    // Node explains at length; its first sentence is enough.
    const [sentence] = String(/** @type {Error} */ (err).message).split(/\.\s|\n/)
    throw new UserError(`${sentence.replace(/\.$/, '')}; see --help`)
  }
}

/**
 * Folders stay out: they belong to the machine, and the CSV files are shared.
 * @param {string} name
 * @param {string[]} names  of options
 * @param {Record<string, string | boolean | undefined>} given
 */
function formatCommand (name, names, given) {
  const words = names.filter((name) => given[name] !== undefined).map((name) => {
    const value = given[name]
    if (value === true) return `--${name}`
    return `--${name} ${String(value).split(',').map((text) => text.split(/[\\/]/).at(-1)).join(',')}`
  })
  return `npm run ${name}${words.length > 0 ? ' -- ' : ''}${words.join(' ')}`
}

/** @param {Command} command */
function formatUsage ({ name, about, options, parts }) {
  const lines = Object.entries({ ...options, ...COMMON }).map(([name, { takes = '', about, standard = '' }]) => {
    return [`  --${name} ${takes}`, about, standard]
  })
  const width = Math.max(...parts.flatMap(([, parts]) => parts.map(([name]) => name.length)))
  const more = parts.map(([title, parts]) => [
    `${title}:`, ...parts.map(([name, what]) => `  ${name.padEnd(width)}  ${what}`.trimEnd())
  ].join('\n'))
  const table = alignColumns(lines, '  ', () => true).join('\n')
  return [`Usage: npm run ${name} -- [options]`, about, table, more.join('\n')].join('\n\n') + '\n'
}

/**
 * @param {string} option
 * @param {string | undefined} text  names with commas between
 * @returns {string[]}
 */
function toNames (option, text) {
  if (text === undefined) return []
  const names = text.split(',').map((name) => name.trim())
  if (names.some((name) => name === '')) throw new UserError(`${option}: expected a list like a,b and got "${text}"`)
  return names
}

/**
 * An option that is a whole number.
 * @param {string} about
 * @param {{ min?: number, max?: number, initial?: number, standard?: string }} bounds  `initial` without the option
 * @returns {Option}
 */
function countOption (about, { min = 1, max = 1000, initial, standard = String(initial) }) {
  const read = (/** @type {string | undefined} */ text, /** @type {string} */ option) => {
    return text === undefined ? initial : toInteger(text, option, min, max)
  }
  return { takes: 'N', about, standard, read }
}

/**
 * @param {string} text
 * @param {string} option
 * @param {number} min
 * @param {number} max
 */
function toInteger (text, option, min, max) {
  const number = /^\d+$/.test(text) ? Number(text) : NaN
  if (number >= min && number <= max) return number
  throw new UserError(`${option}: expected a whole number from ${min} to ${max}, got "${text}"`)
}

/**
 * @param {string | undefined} text
 * @param {string} option
 */
function toPath (text, option) {
  if (text === '') throw new UserError(`${option}: expected a path, got ""`)
  return text
}

/**
 * The `read` of an option that picks parts by their names, in the order of the parts. Without the option it is all.
 * @param {any[]} parts
 * @param {(part: any) => boolean} [isPart]  paths of modules can be given too, each of which exports such a part
 * @param {Map<string, any[]>} [groups]  of parts, that have a name together
 * @returns {(text: string | undefined, option: string) => any[]}
 */
function toParts (parts, isPart, groups = new Map()) {
  return (text, option) => {
    if (text === undefined) return parts
    const words = toNames(option, text)
    const strangers = new Map(words.filter((word) => isPart && word.endsWith('.js')).map((word) => {
      return [word, loadStranger(option, word, isPart)]
    }))
    const known = [...parts, ...strangers.values()].sort((a, b) => (a.order ?? 0) - (b.order ?? 0))
    const partsOf = (/** @type {string} */ word) => groups.get(word) ?? [strangers.get(word) ?? { name: word }]
    const names = words.flatMap((word) => partsOf(word).map(({ name }) => name))
    const unknown = names.find((name) => !known.some((part) => part.name === name))
    if (unknown === undefined) return known.filter((part) => names.includes(part.name))
    throw new UserError(`${option}: unknown "${unknown}", choose from ${known.map((part) => part.name).join(', ')}`)
  }
}

/**
 * @param {string} option
 * @param {string} file
 * @param {(part: any) => boolean} [isPart]
 */
function loadStranger (option, file, isPart) {
  const whole = path.resolve(file)
  if (!fs.existsSync(whole)) throw new UserError(`${option}: there is no file ${file}`)
  const [part] = loadParts(whole)
  if (typeof part?.name === 'string' && isPart?.(part)) return part
  throw new UserError(`${option}: ${file} does not export what it must`)
}

exports.runCommand = runCommand
exports.readOptions = readOptions
exports.toNames = toNames
exports.countOption = countOption
exports.toInteger = toInteger
exports.toPath = toPath
exports.toParts = toParts
