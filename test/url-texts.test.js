'use strict'
// The text of a URL is no path: as one, it leads into a new folder that is called `file:`. Whatever takes a path
// refuses it, says what to pass, and makes nothing.

const fs = require('node:fs')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const tape = require('tape')
const { BlockFile } = require('@millrace/block-file')
const { Forwarder } = require('@millrace/forwarder')
const { createIngest, createKey } = require('@millrace/ingest')
const { MergedLog, SlotLog } = require('@millrace/merged-log')
const { OffsetLog } = require('@millrace/offset-log')
const { destination } = require('@millrace/pino')
const { SegmentedLog } = require('@millrace/segmented-log')
const { failureOf, temporaryFolder } = require('@millrace/testkit')
const { convert, open, openSource, repair, verify } = require('millrace')
const { callCommand } = require('../packages/millrace/test/run-command')

/** What takes a path, and fails at once, later, or when it is used. */
const TAKERS = {
  open: (text) => open(text).close(),
  'open of a folder': (text) => open(text, { maxSize: 2 ** 20 }).close(),
  OffsetLog: (text) => OffsetLog(text).close(),
  SegmentedLog: (text) => SegmentedLog(text).close(),
  MergedLog: (text) => MergedLog(text).close(),
  SlotLog: (text) => SlotLog(text, { slots: 2 }).close(),
  BlockFile: (text) => BlockFile(text).close(),
  verify: (text) => verify(text),
  repair: (text) => repair(text, 'b.repaired', { write: true }),
  'repair to': (text, log) => repair(log.filename, text, { write: true }),
  'convert from': (text, log) => convert(text, `${log.filename}.converted`),
  'convert to': (text, log) => convert(log.filename, text),
  openSource: (text) => openSource(text).ready(),
  snapshot: (text, log) => log.snapshot(text),
  view: (text, log) => log.view({ name: 'n', initial: 0, reduce: (sum) => sum, path: text }).ready(),
  forwarder: (text, log) => Forwarder(log, { sink: async () => {}, name: 'a', path: text }).ready(),
  ingest: (text) => createIngest({ folder: text }),
  createKey: (text) => createKey(text, { scopes: ['read:*'] }),
  'keysFile of ingest': (text) => createIngest({ folder: 'served', keysFile: text }),
  destination: (text) => destination(text).close()
}

const WORDS = [['append', '', '{}'], ['cat', ''], ['import', ''], ['view', ''], ['snapshot', 'a.log', ''], ['convert', 'a.log', ''],
  ['serve', ''], ['keys', 'create', '', '--scope', 'read:*'], ['verify', ''], ['tail', '-F', '']]

tape('the text of a URL in place of a path is refused with a code, and makes no folder', async (t) => {
  const folder = fs.realpathSync(temporaryFolder())
  const before = process.cwd()
  process.chdir(folder)
  t.teardown(() => process.chdir(before))
  const log = open('a.log')
  await log.append({ n: 1 })
  for (const text of [pathToFileURL(path.join(folder, 'b.log')).href, 'file:/b.log', 'nats://127.0.0.1:1/stream', 'https://example.com/b.log']) {
    for (const [name, take] of Object.entries(TAKERS)) {
      const err = await failureOf(() => take(text, log))
      t.equal(err?.code, 'ERR_INVALID_ARGUMENT', `${name}: ${err?.message}`)
      t.ok(err?.message.includes(text), 'the text is named')
      t.match(err?.message ?? '', text.startsWith('file:') ? /new URL\(text\)/ : /pass a path/)
    }
    if (text.startsWith('nats:')) continue
    for (const words of WORDS) {
      const { code, stderr } = await callCommand(words.map((word) => word || text))
      t.equal(code, 2, `${words.join(' ')}: ${stderr}`)
      t.match(stderr, /^millrace: expected a path, got the text of a URL, .*; give the path\n$/)
    }
  }
  await log.close()
  t.deepEqual(fs.readdirSync('.').filter((name) => name !== 'a.log'), [], 'nothing was made')
  const own = open('./file:/a.log')
  await own.append({ n: 1 })
  await own.close()
  t.ok(fs.existsSync(path.join(folder, 'file:', 'a.log')), 'a folder of that name can be said')
})
