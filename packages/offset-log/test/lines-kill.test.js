'use strict'
// Real processes that append to a log of lines, and are killed at any moment.

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { createRandom, newPath } = require('@millrace/testkit')

const KILL_COUNT = Number(process.env.KILL_COUNT ?? 8)
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

/** Runs the child until it is killed. @returns {Promise<number>} how many values it said were appended */
async function runUntilKilled (file, fsync, ms) {
  const child = spawn(process.execPath, [path.join(__dirname, 'lines-kill-child.js'), file, fsync])
  let said = ''
  child.stdout.on('data', (text) => { said += text })
  child.stderr.on('data', (text) => { said += `${text}` })
  await once(child.stdout, 'data')
  await new Promise((resolve) => setTimeout(resolve, ms))
  child.kill('SIGKILL')
  await once(child, 'close')
  return Number(said.split('\n').at(-2))
}

for (const fsync of ['always', 'interval', 'never']) {
  tape(`lines: a killed process loses nothing that had called back, and leaves whole batches (${fsync}, seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const file = newPath('events.jsonl')
    for (let kill = 0; kill < KILL_COUNT; kill++) {
      const promised = await runUntilKilled(file, fsync, random(60))
      const { OffsetLog } = require('..')
      const log = OffsetLog(file, { framing: 'lines' })
      await log.ready()
      await log.close()
      const values = fs.readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line))
      if (!values.every(({ n }, index) => n === index)) t.fail('lines are missing, doubled or mixed')
      if (!(values.length >= promised)) t.fail(`${promised} were appended, ${values.length} are there`)
      const { count, index } = values.at(-1)
      if (index !== count - 1) t.fail('half a batch is there')
    }
    t.pass(`${KILL_COUNT} kills`)
  })
}
