// A CommonJS module that uses the packages. It is run, too.

import assert = require('node:assert')
import offsetLog = require('@millrace/offset-log')
import { jsonCodec } from '@millrace/json-codec'
import crash = require('@millrace/testkit')

interface Message { text: string }

const { OffsetLog } = offsetLog
const log: offsetLog.OffsetLog<Message> = new OffsetLog(`${crash.temporaryFolder()}/a.log`, { codec: jsonCodec })
log.append({ text: 'one' }, (err, seq) => {
  if (err) throw err
  log.get(seq, (err, { text }) => {
    assert.equal(err, null)
    assert.equal(text.toUpperCase(), 'ONE')
    const source = log.stream({ seqs: false, limit: 1 })
    source(null, (end, message) => {
      assert.deepEqual([end, message.text], [null, 'one'])
      source(true)
      log.close((err) => {
        assert.equal(err ?? null, null)
        assert.equal(typeof crash.CrashPoint, 'function')
        console.log('cjs well')
      })
    })
  })
})

// @ts-expect-error
log.append({ words: 'one' }, () => {})
