'use strict'
// Never two who write one log, and never a log that nobody can open: shown for the order of the steps of a few
// processes that open a folder, roll, move it, or open one of its files alone, and who may die between any two. All
// scenarios, which take some minutes: node lab/models/folder-lock

const tape = require('tape')
const { isLongRun } = require('@millrace/testkit')
const { explore } = require('../models/folder-lock/explore')
const { loadLogs } = require('../models/folder-lock/load-logs')
const { scenarios } = require('../models/folder-lock/scenarios')

const logs = loadLogs()

for (const [title, { quick, long }] of Object.entries(scenarios)) {
  tape(`folder lock: ${title}: never two writers, never none, nothing lost, nothing said that is wrong`, async (t) => {
    for (const scenario of isLongRun ? [...quick, ...long] : quick) {
      const { states, ends, violation, history } = await explore(scenario, logs, (states) => t.comment(`${states} states so far`))
      t.equal(violation, null, `${JSON.stringify(scenario)}: ${states} states, ${ends} ends${history.map((line) => `\n  ${line}`).join('')}`)
    }
  })
}

/** Bugs, each of which the model must find: what to replace in a file, and where it shows. */
const planted = [
  {
    what: 'that a file of the log is opened alone without the lock of its folder',
    changes: { 'block-file/lib/block-file.js': [['isMember ? openMember : open', 'open']] },
    where: 'one file of the log, opened alone'
  },
  {
    what: 'that the lock of the folder is released with the first segment that is closed',
    changes: {
      'block-file/lib/open.js': [['folderLock.cover ? await promisesOf(folderLock).cover(filePath) : standInFor(folderLock)', 'folderLock']]
    },
    where: 'no locks of the kernel'
  },
  {
    what: 'that the segments are listed before the lock is taken',
    changes: {
      'segmented-log/lib/opening.js': [
        ['  try {\n    await place.open(', '  const early = await list(folder, options)\n  try {\n    await place.open('],
        ['openForReading)(folder, options)', 'openForReading)(folder, options, early)'],
        ['async function openForWriting (folder, options) {', 'async function openForWriting (folder, options, listing) {'],
        ['  const listing = await listLog(folder, options)\n  const { segments } = listing\n', '  const { segments } = listing\n']
      ]
    },
    where: 'a new folder'
  },
  {
    what: 'that the lock is released before the last segment is closed',
    changes: {
      'segmented-log/lib/segmented-log.js': [
        ['() => this.#retention.stop(),\n', '() => this.#retention.stop(),\n      () => place.close(),\n']
      ]
    },
    where: 'a new folder'
  },
  {
    what: 'that nobody looks whether the locked file still has its name',
    changes: { 'block-file/lib/open.js': [['if (handle.isAt && !await promisesOf(handle).isAt(name)) throw this.#changesHands()', '']] },
    where: 'a folder that has no lock file yet'
  },
  {
    what: 'that who has the lock of the kernel does not ask for the record',
    changes: {
      'block-file/lib/open.js': [[
        'await storage.lock(this.#path, { createFolder: false, isKernelHeld: true, inode })',
        'await storage.lock(this.#path, { createFolder: false, isKernelHeld: true, inode }).catch(() => ' +
          'new Proxy({}, { get: (_, name) => name !== "then" && name !== "cover" && ((cb) => cb(null)) }))'
      ]]
    },
    where: 'locks of the kernel for some'
  }
]

for (const { what, changes, where } of planted) {
  tape(`folder lock: the model finds out ${what}`, async (t) => {
    const broken = loadLogs(changes)
    let found = null
    for (const scenario of scenarios[where].quick) found ??= (await explore(scenario, broken)).violation
    t.ok(found, found)
  })
}
