// @ts-check
'use strict'
// A module in JavaScript that tsc checks. It is run, too.

const assert = require('node:assert')
const { OffsetLog } = require('@millrace/offset-log')
const { binaryCodec } = require('@millrace/binary-codec')
const { fileStorage } = require('@millrace/block-file')
const { temporaryFolder } = require('@millrace/testkit')

/** @typedef {{ text: string }} Message */

async function main () {
  /** @type {import('@millrace/offset-log').OffsetLog<Message>} */
  const log = OffsetLog(`${temporaryFolder()}/a.log`, { codec: binaryCodec, storage: fileStorage })
  const seq = await log.append({ text: 'one' })
  const { text } = await log.get(seq)
  assert.equal(text.toUpperCase(), 'ONE')
  // @ts-expect-error
  await assert.rejects(() => log.append({ text: 'two' }, 2), { code: 'ERR_INVALID_ARGUMENT' })
  await log.close()
  console.log('js well')
}

main()
