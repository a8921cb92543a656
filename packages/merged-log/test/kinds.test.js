'use strict'
// kinds: a folder with a log of segments gets no slots, and is not read as a folder of slots. Readers of the slots
// would not see the records in its own segments.

const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, failureOf, newPath } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const codec = jsonCodec

/** A folder of one process, as it was before there were several. */
async function makeSegments (folder = newPath('up')) {
  const log = SegmentedLog(folder, { codec, segmentSize: 1 })
  for (let time = 1; time <= 3; time++) await log.append({ time })
  await log.hold('mirror', await log.last({ values: false }))
  await log.close()
  return folder
}

function contents (folder) {
  return fs.readdirSync(folder, { recursive: true }).map(String).sort()
}

tape('kinds: SlotLog and MergedLog refuse a folder with the segments of one log', async (t) => {
  const folder = await makeSegments()
  const before = contents(folder)
  for (const Log of [SlotLog, MergedLog]) {
    const log = Log(folder, { codec })
    const err = await failureOf(() => log.ready())
    t.equal(err?.code, 'ERR_LOG_UNKNOWN_FORMAT')
    t.equal(err?.path, folder)
    t.match(err?.message, /has the segments of one log/)
    t.ok(err?.message.includes(`mkdir ${path.join(folder, '0')} && mv `), err?.message)
    await log.close().catch(() => {})
    t.deepEqual(contents(folder), before, 'nothing was made')
  }
})

const skip = process.platform === 'win32' && 'the steps are those of a shell'
const NAMES = ['up', 'with a space', "it's", '"quoted"', '$HOME `id`', 'a*?[b]', 'a\\b;c&(d)', 'two\nlines', '~', 'ä']
for (const name of NAMES) {
  tape(`kinds: after the steps that the message gives, all records of ${JSON.stringify(name)} are read`, { skip }, async (t) => {
    const folder = await makeSegments(newPath(name))
    const first = SlotLog(folder, { codec })
    const { message } = await failureOf(() => first.ready())
    await first.close().catch(() => {})
    execFileSync('sh', ['-c', /\((mkdir [^]*)\)/.exec(message)[1]])
    const slot = SlotLog(folder, { codec })
    await slot.append({ time: 4 })
    t.equal(slot.slot, 0)
    t.equal((await slot.log.holds()).length, 1, 'holds came along')
    const merged = MergedLog(folder, { codec })
    const times = (await collect(merged.stream())).map(({ time }) => time)
    t.deepEqual(times, [1, 2, 3, 4])
    await merged.close()
    await slot.close()
  })
}

tape('kinds: segments beside slots are not left out: the folder is refused', async (t) => {
  const folder = newPath('up')
  const slot = SlotLog(folder, { codec })
  await slot.append({ time: 1 })
  await slot.close()
  const other = await makeSegments()
  fs.cpSync(other, folder, { recursive: true })
  for (const Log of [SlotLog, MergedLog]) {
    const log = Log(folder, { codec })
    const err = await failureOf(() => log.ready())
    t.equal(err?.code, 'ERR_LOG_UNKNOWN_FORMAT')
    t.match(err?.message, /has segments as well as slots \(0\)/)
    t.ok(err?.message.includes(`mkdir ${path.join(folder, '1')} && mv `), 'slot 0 has a log')
    await log.close().catch(() => {})
  }
})

tape('kinds: what a slot and a log of segments have made in one folder at once is never read in part', async (t) => {
  for (let round = 0; round < 20; round++) {
    const folder = newPath('up')
    const both = [SlotLog(folder, { codec }), SegmentedLog(folder, { codec })]
    const errors = await Promise.all(both.map((log) => failureOf(() => log.ready())))
    for (const err of errors) if (err) t.equal(err.code, 'ERR_LOG_UNKNOWN_FORMAT', err.message)
    for (const log of both) await log.close().catch(() => {})
    const isMixed = contents(folder).some((name) => !name.includes(path.sep) && name.includes('.log')) && contents(folder).includes('0')
    if (!isMixed) continue
    const merged = MergedLog(folder, { codec })
    t.equal((await failureOf(() => merged.ready()))?.code, 'ERR_LOG_UNKNOWN_FORMAT')
    await merged.close().catch(() => {})
  }
})

tape('kinds: a storage that cannot list a folder is refused with what it lacks', async (t) => {
  const storage = { ...fileStorage, listFolder: undefined }
  for (const Log of [SlotLog, MergedLog]) {
    const log = Log(newPath('up'), { codec, storage })
    const err = await failureOf(() => log.ready())
    t.equal(err?.code, 'ERR_NOT_SUPPORTED')
    t.match(err?.message, /listFolder/)
    await log.close().catch(() => {})
  }
})
