'use strict'
// `npm run bench:limits`: measures what must hold. Each figure is compared with another one of the same run. Exit
// codes: 0 done; 1 a goal was missed by more than 10%, or a measurement failed; 2 a wrong option.

const { countOption, readOptions, runCommand, toParts } = require('../lib/command')
const { DEFAULT_RECORDS, MAX_RECORDS, describeSource } = require('../lib/logs')
const { gatherFacts } = require('../lib/report')
const { loadParts } = require('../lib/run')
const { drawGrowth, drawLimits, formatTable, judge, toSheet } = require('./report')
const { runRows } = require('./run')

const CHAPTERS = ['scans', 'queries', 'opening', 'appends', 'event-loop', 'gets', 'memory', 'growth']
const PACKAGES = ['@millrace/offset-log', '@millrace/block-file', '@millrace/json-codec', '@millrace/binary-codec',
  '@node-rs/crc32', 'flumelog-offset', 'bipf', 'lmdb', 'classic-level', 'better-sqlite3']

/** @type {Map<string, import('./rows/shared').Row[]>} */
const chapters = new Map(CHAPTERS.map((name) => [name, loadParts(require.resolve(`./rows/${name}`))]))
const pickRows = toParts([...chapters.values()].flat(), (part) => typeof part.peer === 'function', chapters)

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
  return {
    table: `${formatTable(results)}\n\n${facts.machine}, Node ${facts.node}\n${facts.packages}`,
    sheets: {
      ...(limits.length > 0 && { limits: toSheet(limits, facts) }),
      ...(growth.length > 0 && { growth: toSheet(growth, facts) })
    },
    charts: { limits: source && await drawLimits(results, facts), growth: await drawGrowth(results, facts) },
    isFailure: results.some((result) => judge(result)?.isFailure)
  }
}

if (require.main === module) runCommand(COMMAND)

exports.parseOptions = (/** @type {string[]} */ argv) => readOptions(COMMAND, argv)
