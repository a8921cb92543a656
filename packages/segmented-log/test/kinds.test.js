'use strict'
// kinds: a folder with slots of several processes is not opened as a log of segments, whose readers would not see the
// records in the slots.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { failureOf, newPath } = require('@millrace/testkit')
const { SegmentedLog, slotsError } = require('..')

/** A folder as SlotLog makes it. */
async function makeSlots (...slots) {
  const folder = newPath('slots')
  for (const slot of slots) {
    const log = SegmentedLog(path.join(folder, String(slot)))
    await log.append(Buffer.from(`of slot ${slot}`))
    await log.close()
  }
  return folder
}

for (const options of [{}, { mustExist: true }, { errorIfExists: true }, { flags: 'r' }]) {
  tape(`kinds: a folder of slots is no log of segments, with ${JSON.stringify(options)}`, async (t) => {
    const folder = await makeSlots(2, 0, 10, 1)
    const log = SegmentedLog(folder, options)
    const err = await failureOf(() => log.ready())
    t.equal(err?.code, 'ERR_LOG_UNKNOWN_FORMAT')
    t.equal(err?.path, folder)
    t.ok(err?.message.includes(`${folder} has the slots of several processes (0, 1, 2 and more)`), err?.message)
    t.match(err?.message, /`SlotLog`.*`MergedLog`/)
    t.ok(err?.message.includes(path.join(folder, '0')), 'it names a slot that can be opened')
    await log.close().catch(() => {})
    t.deepEqual(fs.readdirSync(folder).filter((name) => name.includes('.log')), [], 'no segment was made')
    const slot = SegmentedLog(path.join(folder, '0'))
    t.equal(String(await slot.first({ seqs: false })), 'of slot 0', 'a slot is opened as before')
    await slot.close()
  })
}

tape('kinds: segments beside slots are not read without the slots', async (t) => {
  const folder = await makeSlots(0, 1)
  const alone = SegmentedLog(newPath('alone'))
  await alone.append(Buffer.from('alone'))
  await alone.close()
  fs.cpSync(alone.filename, folder, { recursive: true })
  for (const options of [{}, { flags: 'r' }]) {
    const log = SegmentedLog(folder, options)
    const err = await failureOf(() => log.ready())
    t.equal(err?.code, 'ERR_LOG_UNKNOWN_FORMAT')
    t.match(err?.message, /has segments as well as slots \(0, 1\)/)
    t.ok(err?.message.includes(`mkdir ${path.join(folder, '2')} && mv `), 'a slot that is free')
    await log.close().catch(() => {})
  }
})

tape('kinds: other names in the folder are no slots', async (t) => {
  const folder = newPath('log')
  for (const name of ['00', '01', '1234567', '1a', 'lost+found', '-1']) fs.mkdirSync(path.join(folder, name), { recursive: true })
  const log = SegmentedLog(folder)
  await log.append(Buffer.from('one'))
  t.equal(await log.count(), 1)
  await log.close()
})

tape('kinds: the steps of the message name a folder as a shell reads it', { skip: process.platform === 'win32' }, (t) => {
  const expected = {
    'data/up-1': 'mkdir data/up-1/0 && mv data/up-1/*.log* data/up-1/0/',
    'data/': 'mkdir data/0 && mv data/*.log* data/0/',
    '-v': 'mkdir ./-v/0 && mv ./-v/*.log* ./-v/0/',
    "it's": "mkdir 'it'\\''s/0' && mv 'it'\\''s'/*.log* 'it'\\''s/0'/"
  }
  for (const [folder, steps] of Object.entries(expected)) {
    const err = slotsError(folder, ['0000000000000000-20260101T000000000Z.log'])
    t.equal(/\((mkdir .*)\)/.exec(err?.message)?.[1], steps)
  }
  t.end()
})
