'use strict'
// A log of which an older copy was restored, and which has gone on with other records.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { newPath } = require('@millrace/testkit')
const { createView } = require('..')

const sum = { name: 'sum', initial: 0, reduce: (state, { n }) => state + n }
const openLog = (framing, file) => OffsetLog(file, { codec: jsonCodec, framing })

for (const framing of ['checked', 'lines', 'offset48']) {
  tape(`restore: an equal record at the place of the view does not prove it, ${framing}`, async (t) => {
    const file = newPath('log')
    let log = openLog(framing, file)
    await log.append({ n: 500 })
    await log.close()
    const kept = [file, `${file}.sums`].filter((name) => fs.existsSync(name))
    for (const name of kept) fs.copyFileSync(name, `${name}.copy`)
    log = openLog(framing, file)
    await log.append([{ n: 100 }, { n: 1 }])
    let view = createView(log, sum)
    t.equal(await view.get(), 601)
    await view.close()
    await log.close()
    for (const name of kept) fs.copyFileSync(`${name}.copy`, name)
    log = openLog(framing, file)
    await log.append([{ n: 999 }, { n: 1 }])
    view = createView(log, sum)
    t.equal(await view.get(), 1500)
    await view.close()
    await log.close()
  })
}
