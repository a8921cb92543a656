'use strict'
// `npm run bench:limits`: measures what must hold. Each figure is compared with another one of the same run. Exit
// codes: 0 done; 1 a goal was missed by more than 10%, or a measurement failed; 2 a wrong option.

const path = require('node:path')
const { countOption, readOptions, runCommand, toParts } = require('../lib/command')
const { DEFAULT_RECORDS, MAX_RECORDS, describeSource } = require('../lib/logs')
const { createFinder, gatherFacts, readCsv } = require('../lib/report')
const { loadParts } = require('../lib/run')
const { drawGrowth, drawLimits, formatMarkdownTable, formatMissedTable, formatShortTable, formatTable, fromSheet, judge, toSheet } = require('./report')
const { runRows } = require('./run')

const CHAPTERS = ['scans', 'queries', 'opening', 'appends', 'event-loop', 'gets', 'memory', 'growth']
const PACKAGES = ['@millrace/offset-log', '@millrace/block-file', '@millrace/json-codec', '@millrace/binary-codec',
  '@node-rs/crc32', 'flumelog-offset', 'bipf', 'lmdb', 'classic-level', 'better-sqlite3']

/** @type {Map<string, import('./rows/shared').Row[]>} */
const chapters = new Map(CHAPTERS.map((name) => [name, loadParts(require.resolve(`./rows/${name}`))]))
const allRows = [...chapters.values()].flat()
const pickRows = toParts(allRows, (part) => typeof part.peer === 'function', chapters)

/** @type {import('../lib/command').Command} */
const COMMAND = {
  name: 'bench:limits',
  about: `Measures what must hold, each figure against another one from the same run; writes limits and
growth to data/*.csv and images/*. Ends with exit code 1 when a goal is missed by more than 10%.`,
  options: {
    rows: { takes: 'LIST', about: 'rows, chapters of rows, or paths of modules', standard: 'all', read: pickRows },
    only: { takes: 'LIST', about: 'the same', read: pickRows },
    runs: countOption('how often each side of a row runs', { initial: 5 }),
    samples: countOption('samples of a process after the first', { min: 0, standard: 'what each row needs' }),
    records: countOption('messages in the generated log; with fewer, logs of growth are shorter too', {
      max: MAX_RECORDS, initial: DEFAULT_RECORDS
    })
  },
  parts: [...chapters].map(([chapter, rows]) => [chapter, rows.map(({ name, what }) => [name, what])]),
  refine: ({ given, rows, only }) => ({ rows: given.rows === undefined ? only : rows }),
  run
}

/** @type {(options: any, generated: string) => Promise<import('../lib/command').Results>} */
async function run (options, generated) {
  const { results, source } = await runRows(options, generated)
  const facts = gatherFacts(options.command, PACKAGES, source ? describeSource(source) : 'no log of the bench')
  const growth = results.filter(({ row }) => row.growth)
  const limits = results.filter(({ row }) => !row.growth)
  const isWhole = (/** @type {typeof results} */ measured, /** @type {boolean} */ isGrowth) => {
    const all = allRows.filter(({ growth }) => Boolean(growth) === isGrowth)
    return measured.length === 0 || measured.length === all.length
  }
  return {
    isPartial: options.given.records !== undefined || !isWhole(limits, false) || !isWhole(growth, true),
    table: `${formatTable(results)}\n\n${facts.machine}, Node ${facts.node}\n${facts.packages}`,
    sheets: {
      ...(limits.length > 0 && { limits: toSheet(limits, facts) }),
      ...(growth.length > 0 && { growth: toSheet(growth, facts) })
    },
    charts: { limits: source && await drawLimits(results, facts), growth: await drawGrowth(results, facts) },
    isFailure: results.some((result) => judge(result)?.isFailure)
  }
}

/** The tables and figures for pages. @type {(sheet: string) => import('../figures/sources').Source} */
function createSource (sheet) {
  return {
    sheet,
    open (folder) {
      const { facts, rows: lines } = readCsv(path.join(folder, `${sheet}.csv`))
      const results = fromSheet(lines, allRows)
      const runs = lines.filter(({ run }) => run !== 'median')
      return {
        facts,
        tables: {
          ...Object.fromEntries([...new Map([['', allRows], ...chapters])].flatMap(([chapter, rows]) => {
            const shown = results.filter(({ row }) => rows.includes(row))
            return [[chapter, () => formatMarkdownTable(shown)], [`${chapter} short`.trim(), () => formatShortTable(shown)]]
          })),
          missed: () => formatMissedTable(results)
        },
        find: (key) => countJudged(results, key) ?? findFigure(runs, key)
      }
    }
  }
}

/**
 * `judged` is how many rows have a goal, and `met` how many meet it.
 * @type {(results: import('./run').Result[], key: string) => import('../figures/sources').Found | undefined}
 */
function countJudged (results, key) {
  if (key !== 'judged' && key !== 'met') return undefined
  const judged = results.flatMap((result) => judge(result) ?? []).filter(({ goal }) => goal !== Infinity)
  return { values: [judged.filter(({ isMet }) => isMet || key === 'judged').length], unit: 'count' }
}

/**
 * `ROW ours`, `ROW peer`, `ROW ratio`, which is ours by the peer, or `ROW speed`, which is the peer by ours.
 * @type {(runs: Array<Record<string, string>>, key: string) => import('../figures/sources').Found | undefined}
 */
function findFigure (runs, key) {
  const [name, column] = key.split(' ')
  const isRatio = column === 'ratio' || column === 'speed'
  const found = isRatio || column === 'ours' || column === 'peer' ? runs.filter(({ row }) => row === name) : []
  if (found.length === 0) return undefined
  const valuesOf = createFinder(found, () => [column], (row) => column === 'speed' ? 1 / Number(row.ratio) : Number(row[column]))
  return { values: valuesOf(column), unit: isRatio ? 'ratio' : /** @type {'ms' | 'bytes'} */ (found[0].unit) }
}

if (require.main === module) runCommand(COMMAND)

exports.sources = { limits: createSource('limits'), growth: createSource('growth') }
exports.parseOptions = (/** @type {string[]} */ argv) => readOptions(COMMAND, argv)
