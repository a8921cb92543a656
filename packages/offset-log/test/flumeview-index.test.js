'use strict'
// The suite of the flume family's indexes, with flumeview-level on flumedb on this log: every framing, every codec.

const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const flumecodec = require('flumecodec')
const Flume = require('flumedb')
const Index = require('flumeview-level')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const suites = {
  index: require('test-flumeview-index'),
  live: require('test-flumeview-index/live'),
  read: requireWithout('test-flumeview-index/read', /^empty close/)
}
const codecs = { jsonCodec, binaryCodec, 'flumecodec.json': flumecodec.json }

/**
 * Its tests that close an empty database open one LevelDB twice, which kills the process whatever the log is, or read
 * from one that is being closed, which may or may not hang, depending on whether the log or LevelDB is opened first.
 * @param {string} name  of a module that adds tests to tape
 * @param {RegExp} titles  of those that are left out
 */
function requireWithout (name, titles) {
  const loaded = require.cache[require.resolve('tape')]
  loaded.exports = (title, run) => titles.test(title) ? undefined : tape(title, run)
  const suite = require(name)
  loaded.exports = tape
  return suite
}

for (const framing of ['checked', 'offset32', 'offset48', 'offset53']) {
  for (const [codecName, codec] of Object.entries(codecs)) {
    for (const [name, addTests] of Object.entries(suites)) {
      const folder = temporaryFolder()
      const opened = []
      tape(`test-flumeview-index, ${name}: ${framing}, ${codecName}`, (t) => t.end())
      // The suite names its files by the time of day: several at once would share them. LevelDB wants a folder.
      addTests((file) => {
        const here = path.join(folder, path.basename(file))
        fs.mkdirSync(here, { recursive: true })
        const log = OffsetLog(path.join(here, 'log'), { framing, codec, blockSize: 1024 })
        const db = Flume(log).use('index', Index(1, ({ key }) => [key]))
        opened.push(db)
        return db
      })
      tape(`test-flumeview-index, ${name}: all are closed`, async (t) => {
        for (const db of opened) await promisify(db.close)()
        t.pass(`${opened.length} databases`)
      })
    }
  }
}
