'use strict'
// Whether a log of lines overwrites what another program appends to its file meanwhile, on real files.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { FRAMINGS } = require('../framings')
const { Violation } = require('../violation')

const MODES = ['always', 'interval', 'never']
const FOREIGN = '{"from":"another program"}\n'

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = async ({ logModule }) => {
  const { OffsetLog } = require(logModule)
  const figures = { rounds: 0 }
  try {
    for (const fsync of MODES) {
      for (const isNow of [false, true]) {
        figures.rounds++
        await appendBeside(OffsetLog, fsync, isNow)
      }
    }
    return { failures: [], figures }
  } catch (err) {
    if (!(err instanceof Violation)) throw err
    return { failures: [{ kind: err.kind, message: err.message }], figures }
  }
}

/** @type {(OffsetLog: any, fsync: string, isNow: boolean) => Promise<void>} `isNow`: our next append does not wait */
async function appendBeside (OffsetLog, fsync, isNow) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-foreign-'))
  const file = path.join(folder, 'events.jsonl')
  try {
    const log = OffsetLog(file, { ...FRAMINGS.lines.options, fsync })
    await log.append(Buffer.from('{"n":1}'))
    fs.appendFileSync(file, FOREIGN)
    const line = Buffer.from('{"n":2}')
    const append = async () => isNow ? log.appendSync(line) : log.append(line)
    await append().catch(() => {})
    await log.close().catch(() => {})
    const text = fs.readFileSync(file, 'utf8')
    if (!text.includes(FOREIGN)) throw new Violation('wrong answer', `fsync ${fsync}: the line of another program is overwritten: ${text}`)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
