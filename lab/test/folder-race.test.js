'use strict'
// 2 to 16 processes race for one folder, again and again. MILLRACE_ROUNDS=2000 makes it longer, and so does
// MILLRACE_TESTS=long.

const tape = require('tape')
const { isLongRun } = require('@millrace/testkit')
const { runFolderRace } = require('../campaigns/folder-race/run-folder-race')

const rounds = Number(process.env.MILLRACE_ROUNDS ?? (isLongRun ? 2000 : 4))
const seed = Number(process.env.MILLRACE_SEED ?? Date.now() % 2 ** 31)

tape(`folder race: ${rounds} rounds: never two writers, nothing false, nothing lost (seed ${seed})`, async (t) => {
  const { failures, figures } = await runFolderRace({ rounds, seed, print: (line) => t.comment(line) })
  t.deepEqual(failures, [])
  t.comment(JSON.stringify(figures))
  t.ok(figures.won > 0)
})
