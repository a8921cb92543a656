'use strict'
// A process that appends, folds and saves is killed again and again: the view has each record once.

const { spawn } = require('node:child_process')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom, inQuickRuns, newPath } = require('@millrace/testkit')
const { createView } = require('..')
const { compare, listing, scanOf } = require('./helpers')

const seed = Date.now() % 2 ** 31
const KILLS = inQuickRuns(40, 20)

/** Until it has told so many times how far it is, and a moment more. */
async function runUntilKilled (file, kind, times, ms) {
  const child = spawn(process.execPath, [path.join(__dirname, 'view-process.js'), file, kind], { stdio: ['ignore', 'pipe', 'inherit'] })
  let told = 0
  child.stdout.on('data', (text) => {
    told += String(text).split('\n').length - 1
    if (told >= times) setTimeout(() => child.kill('SIGKILL'), ms)
  })
  await new Promise((resolve) => child.once('exit', resolve))
}

for (const kind of ['checked', 'segments']) {
  tape(`kill: ${KILLS} times, a view of ${kind} has each record once (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const file = newPath('log')
    for (let kill = 0; kill < KILLS; kill++) {
      await runUntilKilled(file, kind, 1 + random(8), random(8))
      const log = kind === 'segments' ? SegmentedLog(file, { codec: jsonCodec, flags: 'r' }) : OffsetLog(file, { codec: jsonCodec, flags: 'r' })
      let folded = 0
      const reduce = (state, value, seq) => {
        folded++
        return listing.reduce(state, value, seq)
      }
      const view = createView(log, { ...listing, reduce })
      const state = await view.get()
      t.equal(compare(state, await scanOf(log), new Map()), null, `${state.length} records, ${folded} of them folded again`)
      t.deepEqual(state.map(([, n]) => n), Array.from(state, (_, index) => index))
      await view.close()
      await log.close()
    }
  })
}
