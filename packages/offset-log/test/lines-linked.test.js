'use strict'
// A log of lines that is reached by a link to its file: what is beside it is beside the file, not beside the link.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const COUNT = 100

async function makeLinked (t) {
  const folder = temporaryFolder()
  const [file, link] = ['real.jsonl', 'link.jsonl'].map((name) => path.join(folder, name))
  fs.symlinkSync('real.jsonl', link)
  const writer = OffsetLog(file, { framing: 'lines' })
  await writer.append(Array.from({ length: COUNT }, (_, n) => Buffer.from(`{"n":${n}}`)))
  await writer.close()
  const open = async (file) => {
    const log = OffsetLog(file, { flags: 'r' })
    t.teardown(() => log.close())
    await log.ready()
    return log
  }
  return { file, link, open }
}

tape('lines by a link: a reader has the id of the log, and what is durable', async (t) => {
  const { file, link, open } = await makeLinked(t)
  const [log, linked] = [await open(file), await open(link)]
  const { id } = await log.stats()
  t.ok(id)
  t.equal((await linked.stats()).id, id)
  t.equal(linked.durable.value, log.durable.value)
})

tape('lines by a link: a reader says that another program has changed the file', async (t) => {
  const { file, link, open } = await makeLinked(t)
  const bytes = fs.readFileSync(file)
  bytes[5] = 0x39
  fs.writeFileSync(file, bytes)
  for (const path of [file, link]) t.ok((await open(path)).recovery?.changed, path)
})

tape('lines by a link: a file whose beginning is damaged is known by what is beside it', async (t) => {
  const { file, link, open } = await makeLinked(t)
  const bytes = fs.readFileSync(file)
  bytes.fill(0, 0, 10)
  fs.writeFileSync(file, bytes)
  for (const path of [file, link]) t.equal((await (await open(path)).stats()).framing, 'lines', path)
})
