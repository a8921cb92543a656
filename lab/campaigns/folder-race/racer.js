'use strict'
// A process that opens a folder when it is told to, appends, begins segments, and closes it or kills itself at a random
// step. It says what was acknowledged.

const fs = require('node:fs')
const path = require('node:path')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom } = require('@millrace/testkit')
const { SegmentedLog } = require('@millrace/segmented-log')

const STEP_COUNT = 8

process.once('disconnect', () => process.exit(1))
process.on('message', (/** @type {any} */ command) => {
  play(command).catch((err) => ({ code: err.code ?? 'none', message: err.message })).then((answer) => {
    process.send?.({ answer })
  })
})

/** @param {{ folder: string, name: string, seed: number, mayDie: boolean }} command */
async function play ({ folder, name, seed, mayDie }) {
  const random = createRandom(seed)
  const dieAt = mayDie && random(3) === 0 ? random(STEP_COUNT + 2) : Infinity
  if (dieAt === 0) setTimeout(die, random(20))
  const options = { codec: jsonCodec, segmentSize: 50_000, maxCount: 1000, lockTimeout: random(2) * 20 }
  const log = SegmentedLog(folder, options)
  await log.ready()
  claim(folder)
  for (let step = 1; step <= STEP_COUNT; step++) {
    if (step === dieAt) setImmediate(die)
    if (random(3) === 0) await log.roll()
    const value = { name, step }
    await log.append(random(2) === 0 ? value : [value])
    if (random(3) === 0) await log.sync()
    process.send?.({ acknowledged: value })
  }
  if (dieAt === STEP_COUNT + 1) setImmediate(die)
  fs.unlinkSync(markOf(folder))
  await log.close()
  return { code: 'won' }
}

function die () {
  process.kill(process.pid, 'SIGKILL')
}

const markOf = (/** @type {string} */ folder) => path.join(path.dirname(folder), `${path.basename(folder)}.mark`)

/** Only the mark of a process that is gone may be there. @param {string} folder */
function claim (folder) {
  const mark = markOf(folder)
  const before = fs.existsSync(mark) ? Number(fs.readFileSync(mark, 'utf8')) : 0
  if (before > 0 && isRunning(before)) throw new Error(`two writers: ${before} and ${process.pid}`)
  fs.writeFileSync(mark, String(process.pid))
}

/** A killed process whose parent has not noticed is gone. @param {number} pid */
function isRunning (pid) {
  try {
    return !/\) [ZX]/.test(fs.readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}
