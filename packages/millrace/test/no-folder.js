'use strict'
// Tries to open everything that makes folders under one path, and prints the code of each error. A test runs it in a
// process of its own, because making a folder can hang a whole process.

const path = require('node:path')
const { Forwarder } = require('@millrace/forwarder')
const { createIngest, createKey } = require('@millrace/ingest')
const { jsonCodec } = require('@millrace/json-codec')
const { MergedLog, SlotLog } = require('@millrace/merged-log')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { SimulatedDisk } = require('@millrace/testkit')
const { open } = require('..')

const [, , folder, sound] = process.argv
const at = (/** @type {string} */ name) => path.join(folder, name)

const openers = {
  open: () => open(at('y.log')).ready(),
  OffsetLog: () => OffsetLog(at('y.log'), { framing: 'offset32', lock: false }).ready(),
  'open, to read': () => open(at('y.log'), { flags: 'r' }).ready(),
  SegmentedLog: () => SegmentedLog(at('logs')).ready(),
  'SegmentedLog, to read': () => SegmentedLog(at('logs'), { flags: 'r' }).ready(),
  SlotLog: () => SlotLog(at('logs')).ready(),
  MergedLog: () => MergedLog(at('logs')).ready(),
  cursor: async () => {
    const log = OffsetLog('/log', { storage: new SimulatedDisk().storage, codec: jsonCodec })
    const forwarder = Forwarder(log, { sink: () => {}, path: at('cursor') })
    await forwarder.ready().finally(() => forwarder.close()).finally(() => log.close())
  },
  snapshot: async () => {
    const log = open(sound)
    await log.snapshot(at('copy.log')).finally(() => log.close())
  },
  serve: async () => {
    const app = createIngest({ folder: at('logs') })
    try {
      const url = await app.listen({ port: 0 })
      const { status } = await fetch(`${url}/readyz`)
      return status
    } finally {
      await app.close()
    }
  },
  createKey: () => createKey(at('keys.json'), { scopes: ['read:*'] })
}

async function main () {
  for (const [name, run] of Object.entries(openers)) {
    const code = await run().then((answer) => answer ?? 'no error', (/** @type {any} */ err) => err.code ?? err.stack)
    process.stdout.write(`${JSON.stringify([name, code])}\n`)
  }
}

main()
