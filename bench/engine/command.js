'use strict'
// `npm run bench -- [table] [options]`: says what it will do, measures a table of rows, prints it, and writes what was
// measured when it is complete.

const fs = require('node:fs')
const path = require('node:path')
const { saveChart } = require('../lib/card')
const { MAX_RECORDS } = require('../lib/logs')
const { describeFacts, formatSize, gatherFacts } = require('../lib/report')
const { MeasureError, UserError } = require('../lib/run')
const { writePage } = require('../page')
const { TOLERANCE } = require('./compare')
const { judge } = require('./judge')
const { watchLoad } = require('./load')
const { measureRows } = require('./measure')
const { adviseInstall, installPeers } = require('./install')
const { countOption, formatUsage, readOptions, toInteger, toParts, toPath } = require('./options')
const { formatCsv, readCsv, readSaved } = require('./results')

const ROOT = path.join(__dirname, '..', '..')
/** @type {Array<[code: string, meaning: string]>} */
const EXIT_CODES = [
  ['0', 'done'],
  ['1', 'a measurement failed, results of the same work differ, or a goal was missed by more than 10%; with --against: a row is slower than --tolerance allows'],
  ['2', 'an option or a file is wrong']
]
// Options that say where or how long, and change nothing of what is measured.
const WHOLE = ['draw', 'out', 'runs', 'install', 'keep', 'save', 'with', 'profile']

/** @typedef {import('./row').Table} Table */
/** @typedef {import('./row').Row} Row */
/** @typedef {import('./results').Results} Results */

/** @type {(table: Table) => Record<string, import('./options').Option>} */
function optionsOf ({ name, groups, peers, runs, records, budgetMs, options, aliases = {} }) {
  const rows = groups.flatMap(({ rows }) => rows)
  const byGroup = new Map(groups.length > 1 ? groups.map((group) => [group.name, group.rows]) : [])
  const same = (/** @type {string} */ name) => Object.keys(aliases).flatMap((alias) => aliases[alias] === name ? `; --${alias} is the same` : []).join('')
  const minutes = budgetMs && `, while ${Number((budgetMs / 60_000).toPrecision(2))} minutes are not up`
  return {
    rows: { takes: 'LIST', about: `rows, groups of rows, or paths of modules${same('rows')}`, standard: 'all', read: toParts(rows, ({ measure }) => typeof measure === 'function', byGroup) },
    peers: { takes: 'LIST', about: `who takes part, or paths of modules${same('peers')}`, standard: 'all', read: toParts(peers, ({ kind }) => typeof kind === 'string') },
    runs: countOption('how often each case runs', { initial: runs, standard: `${runs}${minutes ?? ''}` }),
    samples: countOption('samples of a process after the first', { min: 0, standard: 'what each row needs' }),
    ...records && { records: countOption('messages in the generated log', { max: MAX_RECORDS, initial: records }) },
    ...options,
    against: { takes: 'REF', about: 'compares this tree, row by row, with a commit, the folder of another tree, or a saved result' },
    tolerance: { takes: 'PERCENT', about: 'with --against: how much slower a row may be', standard: String(100 * TOLERANCE), read: toPercent },
    minutes: countOption('with --against: the time it may take', { max: 24 * 60, initial: 10 }),
    profile: { about: 'measures nothing: shows which packages and functions take the time of each row' },
    install: { about: 'brings the peers that are missing into the own folder of the bench, and goes on' },
    save: { takes: 'FILE', about: 'writes the results to another CSV file as well, to be read by --with or --against', read: toPath },
    with: { takes: 'FILES', about: 'shows saved results of other machines beside these' },
    draw: { about: `measures nothing: draws what data/${name}.csv holds` },
    out: { takes: 'DIR', about: 'where data/ and images/ go', standard: 'the root, if all was measured', read: toPath },
    keep: { about: 'leaves the generated logs in data/generated/, for the next run' },
    help: { about: 'this text' }
  }
}

/** @type {(text: string | undefined, option: string) => number} a fraction */
function toPercent (text = '3', option) {
  return toInteger(text, option, 0, 100) / 100
}

/** @param {Table} table */
function commandOf ({ name }) {
  return name === 'layers' ? 'npm run bench' : `npm run bench -- ${name}`
}

/** @type {(table: Table, argv: string[]) => any} */
function parseOptions (table, argv) {
  const options = readOptions(commandOf(table), optionsOf(table), argv, table.aliases)
  const { draw, given } = options
  const measuring = Object.keys(given).find((name) => !['draw', 'out', 'rows', 'peers', 'save', 'with'].includes(name))
  if (draw && measuring) throw new UserError(`--draw and --${measuring} exclude each other`)
  const budgetMs = given.runs === undefined ? table.budgetMs ?? Infinity : Infinity
  const refined = { ...options, budgetMs, ...table.refine?.({ ...options, budgetMs }) }
  for (const { name } of refined.peers.filter((/** @type {any} */ peer) => !table.peers.includes(peer))) {
    // Who is given as a module takes part in every row.
    for (const { peers } of refined.rows) peers[name] ??= {}
  }
  return refined
}

/**
 * @param {(name: string) => Table} load
 * @param {string[]} argv  without node and the script
 */
async function runCommand (load, argv) {
  // An exit, unlike a signal's default, removes half-made files.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  try {
    const [first] = argv
    const isNamed = first !== undefined && !first.startsWith('-')
    const table = load(isNamed ? first : 'layers')
    const options = parseOptions(table, isNamed ? argv.slice(1) : argv)
    process.exitCode = options.help ? printUsage(table) : await run(table, options)
  } catch (err) {
    const isExplained = err instanceof UserError || err instanceof MeasureError
    console.error(isExplained ? `bench: ${err.message}` : err)
    process.exitCode = err instanceof UserError ? 2 : 1
  }
}

/** @param {Table} table */
function printUsage (table) {
  const { about, groups, peers } = table
  process.stdout.write(formatUsage(commandOf(table), about, optionsOf(table), [
    ...groups.map(({ title, rows }) => /** @type {[string, any]} */ ([
      title, rows.map(({ name, what }) => [name, what])
    ])),
    ['Peers', peers.map(({ name, label }) => [name, label])],
    ['Exit codes', EXIT_CODES]
  ]))
  return 0
}

/** @type {(table: Table, options: any) => Promise<number>} the exit code */
async function run (table, options) {
  const folders = makeFolders(options.out ?? ROOT)
  // However the process ends: nobody wants to look for gigabytes of an interrupted bench.
  if (!options.keep && !options.draw) process.once('exit', () => fs.rmSync(folders.generated, { recursive: true, force: true, maxRetries: 3 }))
  if (options.install) installPeers(options)
  // Before it measures for minutes.
  if (options.with) {
    options.others = options.with.split(',').map((/** @type {string} */ file) => {
      return { name: path.basename(file, '.csv'), ...readSaved(file, table, '--with') }
    })
  }
  if (options.save && !fs.existsSync(path.dirname(path.resolve(options.save)))) {
    throw new UserError(`--save: there is no folder ${path.dirname(options.save)}`)
  }
  if (options.profile) return profile(table, options, folders)
  if (options.against !== undefined && options.against !== false) return require('./against').compareTrees(table, options, folders.generated)
  if (options.draw) return show(table, options, { ...readData(table, folders.data), skipped: 0 }, folders)
  console.error([announce(table, options), ...adviseInstall(options, commandOf(table))].join('\n'))
  const finish = watchLoad()
  const { results, packages, input, skipped } = await measureRows(options, folders.generated)
  const facts = gatherFacts(options.command, packages, input, finish())
  return show(table, options, { results, facts, skipped }, folders)
}

/**
 * Shows where the time goes, and adds it to the report of what was measured before.
 * @type {(table: Table, options: any, folders: Record<string, string>) => Promise<number>}
 */
async function profile (table, options, { data, images, generated }) {
  const { text, profiles } = await require('./profile').profileRows(options, generated)
  console.log(text)
  if (table.report === undefined || (isPartial(options) && options.out === undefined)) return 0
  const { results, facts } = readData(table, data)
  const file = path.join(images, 'report.html')
  fs.writeFileSync(file, await writePage({ ...table.report(results, pickShown(table, results, facts)), profiles }))
  console.log(`\nwritten: ${path.relative(process.cwd(), file)}`)
  return 0
}

/** What it is going to do. @type {(table: Table, options: any) => string} */
function announce (table, options) {
  const { minutes, bytes } = table.takes
  const isPart = isPartial(options)
  const where = isPart && options.out === undefined
    ? 'writes nothing, since only a part is measured (--out DIR writes)'
    : `writes ${options.out ?? 'data/, images/ and the figures in pages'} when all is measured`
  const gone = options.keep ? 'kept' : 'removed at the end; --keep leaves them'
  return `${table.name}: ${isPart ? 'at most ' : ''}about ${minutes} minutes; ${where}; ` +
    `up to ${formatSize(bytes)} of generated files in data/generated/, ${gone}`
}

/** Whether not all was measured that pages show. @param {any} options */
function isPartial ({ given }) {
  return Object.keys(given).some((name) => !WHOLE.includes(name))
}

/**
 * @type {(table: Table, options: any, measured: { results: Results, facts: any, skipped: number }, folders:
 *   Record<string, string>) => Promise<number>}
 */
async function show (table, options, { results, facts, skipped }, folders) {
  const shown = pickShown(withStrangers(table, options), results, facts)
  const { others = [] } = options
  const formatOther = (/** @type {any} */ { name, results, facts }) => {
    return [`## ${name}: ${facts.machine}, Node ${facts.node}`, ...table.format(results, { ...shown, facts })].join('\n\n')
  }
  const parts = [...table.format(results, shown), ...others.map(formatOther), describeFacts(facts)]
  if (!options.draw) parts.push(...adviseInstall(options, commandOf(table)))
  if (skipped > 0) parts.push(`Out of time: ${skipped} second or later runs were left out; --runs ${options.runs} insists on them.`)
  console.log(parts.join('\n\n'))
  if (options.save) fs.writeFileSync(options.save, formatCsv(results, shown.rows, facts))
  const isPart = isPartial(options)
  if (isPart && options.out === undefined && !options.draw) console.log('\nNothing is written: only a part was measured. --out DIR writes.')
  else await write(table, options, { results, shown, others }, folders, isPart)
  const judged = shown.rows.flatMap((row) => row.figures.flatMap((figure) => judge(results, row, figure)))
  return !options.draw && judged.some(({ verdict }) => verdict === 'missed') ? 1 : 0
}

/**
 * @type {(table: Table, options: any, found: { results: Results, shown: import('./row').Shown, others: any[] },
 *   folders: Record<string, string>, isPart: boolean) => Promise<void>}
 */
async function write (table, options, { results, shown, others }, { data, images }, isPart) {
  /** @type {Array<[file: string, text: string]>} */
  const texts = options.draw ? [] : [[path.join(data, `${table.name}.csv`), formatCsv(results, shown.rows, shown.facts)]]
  if (table.report) texts.push([path.join(images, 'report.html'), await writePage(toReport(table, results, shown, others))])
  const charts = Object.entries(table.charts).map(async ([name, draw]) => {
    return { name, svg: await draw(results, shown) }
  })
  for (const [file, text] of texts) fs.writeFileSync(file, text)
  const files = texts.map(([file]) => file)
  for (const { name, svg } of await Promise.all(charts)) if (svg) files.push(...saveChart(images, name, svg))
  console.log(`\nwritten: ${files.map((file) => path.relative(process.cwd(), file)).join(', ')}`)
  const { writePages } = require('../figures/pages')
  if (!isPart) for (const page of writePages(options.out ?? ROOT)) console.log(`written: ${page}`)
}

/**
 * The report, with what other machines measured beside it.
 * @type {(table: Table, results: Results, shown: import('./row').Shown, others: any[]) =>
 *   import('../page/page').Report}
 */
function toReport (table, results, shown, others) {
  const describe = /** @type {NonNullable<Table['report']>} */ (table.report)
  const beside = others.map(({ name, results, facts }) => {
    return { ...describe(results, pickShown(table, results, facts)), machine: name }
  })
  const machine = beside.length > 0 ? { machine: shown.facts.machine.split(',')[0] } : {}
  return { ...describe(results, shown), ...machine, others: beside }
}

/** What `data/` has of a table. @type {(table: Table, folder: string) => ReturnType<typeof readCsv>} */
function readData ({ name }, folder) {
  const file = path.join(folder, `${name}.csv`)
  if (!fs.existsSync(file)) throw new UserError(`there is no data/${name}.csv: measure first`)
  return readCsv(file)
}

/** The table with rows and peers that were given as modules. @type {(table: Table, options: any) => Table} */
function withStrangers (table, { rows, peers }) {
  const known = table.groups.flatMap((group) => group.rows.map(({ name }) => name))
  const strange = rows.filter((/** @type {Row} */ { name }) => !known.includes(name))
  const groups = strange.length > 0 ? [...table.groups, { name: 'given', title: 'Given', rows: strange }] : table.groups
  const strangers = peers.filter((/** @type {any} */ { name }) => !table.peers.some((peer) => peer.name === name))
  return { ...table, groups, peers: [...table.peers, ...strangers].sort((a, b) => (a.order ?? 0) - (b.order ?? 0)) }
}

/**
 * What of a table was measured.
 * @type {(table: Table, results: Results, facts: import('../lib/report').Facts) => import('./row').Shown}
 */
function pickShown ({ groups, peers }, results, facts) {
  const has = (/** @type {Row} */ { name }) => results.has(name) || results.absences.some(({ row }) => row === name)
  const kept = groups.map((group) => ({ ...group, rows: group.rows.filter(has) })).filter(({ rows }) => rows.length > 0)
  const present = new Set(results.runs.map(({ peer }) => peer))
  return {
    groups: kept, rows: kept.flatMap(({ rows }) => rows), peers: peers.filter(({ name }) => present.has(name)), facts
  }
}

/** @param {string} out */
function makeFolders (out) {
  const [data, images, generated] = ['data', 'images', path.join('data', 'generated')].map((name) => path.join(out, name))
  try {
    for (const folder of [data, images, generated]) {
      fs.mkdirSync(folder, { recursive: true })
      fs.accessSync(folder, fs.constants.W_OK)
    }
  } catch (err) {
    throw new UserError(`--out: ${/** @type {Error} */ (err).message}`)
  }
  return { data, images, generated }
}

exports.runCommand = runCommand
exports.isPartial = isPartial
exports.parseOptions = parseOptions
exports.pickShown = pickShown
exports.readData = readData
