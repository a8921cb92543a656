'use strict'
// A reader whose checked file is replaced by a damaged one. What a look reads must not wait for the next look.

const fs = require('node:fs')
const tape = require('tape')
const { withDictionary } = require('@millrace/dictionary')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, newPath, until } = require('@millrace/testkit')
const { OffsetLog } = require('..')

/** What happens to a copy. @type {Record<string, (copy: string) => void>} */
const damages = {
  'is cut within its last record': (copy) => fs.truncateSync(copy, fs.statSync(copy).size - 5),
  'is cut within a record before': (copy) => fs.truncateSync(copy, fs.statSync(copy).size - 60),
  'has a wrong byte in its last record': (copy) => flip(copy, fs.statSync(copy).size - 5),
  'has a wrong byte before': (copy) => flip(copy, fs.statSync(copy).size - 60)
}

/** @type {(file: string, position: number) => void} */
function flip (file, position) {
  const bytes = fs.readFileSync(file)
  bytes[position] ^= 255
  fs.writeFileSync(file, bytes)
}

const kinds = [[false, false, true], [false, true, true], [true, false, true], [true, true, false]]
for (const [hasDictionary, isCompacted, isClosed] of kinds) {
  const kind = ['of a log', hasDictionary && 'with a dictionary', isCompacted && 'that was compacted', !isClosed && 'while its writer had it open']
  for (const [what, damage] of Object.entries(damages)) {
    tape(`follower: the file is replaced by a copy that ${what}, ${kind.filter(Boolean).join(' ')} (look-waits-for-a-look)`, async (t) => {
      const file = newPath('log')
      const log = OffsetLog(file, { codec: hasDictionary ? withDictionary(jsonCodec) : jsonCodec })
      for (let n = 0; n < 9; n++) {
        await log.append({ name: `record ${n}` })
        if (n === 5 && isCompacted) await log.compact()
      }
      await log.sync()
      if (isClosed) await log.close()
      fs.copyFileSync(file, `${file}.copy`)
      damage(`${file}.copy`)
      const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r' })
      await reader.ready()
      let got = 0
      const reading = (async () => {
        for await (const seq of reader.stream({ live: true, values: false })) got += seq < 0 ? 0 : 1
      })().catch(() => {})
      await until(() => got === 9)
      if (!isClosed) await log.close()
      fs.renameSync(`${file}.copy`, file)

      let outcome = 'waits'
      reader.refresh().then(() => { outcome = 'done' }, (err) => { outcome = err.code })
      await until(() => outcome !== 'waits')
      t.ok(['done', 'ERR_LOG_REPLACED', 'ERR_LOG_CORRUPT'].includes(outcome), `a look ends: ${outcome}`)
      const failure = await failureOf(() => collect(reader.stream()))
      t.ok(['ERR_LOG_REPLACED', 'ERR_LOG_CORRUPT'].includes(failure?.code), `a read says what is wrong: ${failure}`)
      await reader.close()
      await reading
    })
  }
}
