'use strict'
// `npm run bench:limits`: measures what must hold, each figure against another one from the same run.

const fs = require('node:fs')
const path = require('node:path')
const { saveChart } = require('../lib/charts/canvas')
const { describeWritten, prepareFolders, readOptions, toInteger, toNames } = require('../lib/command')
const { DEFAULT_RECORDS, MAX_RECORDS, describeSource } = require('../lib/logs')
const { loadParts, pickParts } = require('../lib/parts')
const { gatherFacts, writeCsv } = require('../lib/report')
const { drawGrowth, drawLimits } = require('./charts')
const { createContexts } = require('./context')
const { formatTable, judge, toSheet } = require('./report')
const { runRows } = require('./run-rows')

const CHAPTERS = ['scans', 'queries', 'opening', 'appends', 'event-loop', 'gets', 'memory', 'growth']
const DEFAULT_RUNS = 5
const PACKAGES = ['@millrace/offset-log', '@millrace/block-file', '@millrace/json-codec', '@millrace/binary-codec',
  '@node-rs/crc32', 'flumelog-offset', 'bipf', 'lmdb', 'classic-level', 'better-sqlite3']

/** @type {Map<string, import('./rows/shared').Row[]>} */
const chapters = new Map(CHAPTERS.map((name) => [name, loadParts(path.join(__dirname, 'rows', `${name}.js`))]))
const rows = [...chapters.values()].flat()

/** @type {import('../lib/command').Command} */
const COMMAND = {
  name: 'bench:limits',
  about: `Measures what must hold, each figure against another one from the same run; writes limits and
growth to data/*.csv and images/*. Ends with exit code 1 when a goal is missed by more than 10%.`,
  options: {
    rows: { takes: 'LIST', about: 'rows, chapters of rows, or paths of modules', standard: 'all', read: pickRows },
    only: { takes: 'LIST', about: 'the same', read: pickRows },
    runs: { takes: 'N', about: 'how often each side of a row runs', standard: String(DEFAULT_RUNS), read: toInteger(1, 1000, DEFAULT_RUNS) },
    samples: { takes: 'N', about: 'samples of a process after the first', standard: 'what each row needs', read: toInteger(0, 1000, undefined) },
    records: {
      takes: 'N',
      about: 'messages in the generated log; with fewer, logs of growth are shorter too',
      standard: String(DEFAULT_RECORDS),
      read: toInteger(1, MAX_RECORDS, DEFAULT_RECORDS)
    }
  },
  more: () => [...chapters].map(([chapter, own]) => {
    return [`${chapter}:`, ...own.map(({ name, what }) => `  ${name.padEnd(22)}${what}`)].join('\n')
  }).join('\n')
}

/**
 * @param {string[]} argv  without node and the script
 * @returns {any}
 * @throws {import('../lib/command').UserError}  one line that names the option
 */
function parseOptions (argv) {
  const { given, ...options } = readOptions(COMMAND, argv)
  return { ...options, rows: given.rows === undefined ? options.only : options.rows }
}

/**
 * @param {string | undefined} text
 * @param {string} option
 * @returns {import('./rows/shared').Row[]}
 */
function pickRows (text, option) {
  const words = toNames(option, text).flatMap((word) => chapters.get(word)?.map(({ name }) => name) ?? word)
  return pickParts(option, rows, words, (part) => typeof part.peer === 'function')
}

/**
 * @param {any} options
 * @returns {Promise<number>}  the exit code
 */
async function run (options) {
  const folders = prepareFolders(options.out)
  const contexts = createContexts(options.records, folders.generated)
  const results = await runRows(options, contexts, folders.generated)
  const source = contexts.source()
  const facts = gatherFacts(options.command, PACKAGES, source ? describeSource(source) : 'no log of the bench')
  console.log(`${formatTable(results)}\n\n${facts.machine}, Node ${facts.node}\n${facts.packages}`)
  const files = ['limits', 'growth'].flatMap((name) => {
    const own = results.filter(({ row }) => Boolean(row.growth) === (name === 'growth'))
    return own.length > 0 ? writeCsv(folders.data, name, toSheet(own, facts)) : []
  })
  const input = source && { facts, records: source.records, bytes: fs.statSync(source.json).size }
  const charts = { limits: input && await drawLimits(results, input), growth: await drawGrowth(results, facts) }
  for (const [name, svg] of Object.entries(charts)) if (svg) files.push(...saveChart(folders.images, name, svg))
  console.log(describeWritten(files))
  return results.some((result) => judge(result)?.isFailure) ? 1 : 0
}

exports.COMMAND = COMMAND
exports.parseOptions = parseOptions
exports.run = run
