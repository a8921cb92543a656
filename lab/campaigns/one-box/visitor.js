// @ts-nocheck
'use strict'
// Looks at the log while it is written, as people do from a shell, and makes backups.

const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { open } = require('millrace')
const { command } = require('./command')
const { openReader } = require('./follower')
const { scan } = require('./reads')
const { FILES, pathOf } = require('./settings')

async function run (life) {
  const { folder, setting, random } = life
  const file = pathOf(folder, setting)
  const log = await openReader(life)
  if (log === null) return
  await life.tell({ opened: true })
  try {
    while (!life.isStopping) {
      await [verify, count, backUp][random(3)](life, log, file)
      await sleep(random(200))
    }
  } catch (err) {
    if (!life.isCut(err)) throw err
    while (!life.isStopping) await verify(life, log, file)
  }
  await life.step('close', log.close())
}

const verify = (life, log, file) => command(life, 'verify', file)

/** What is there before and after, the command counts. */
async function count (life, log, file) {
  const where = `user=u${life.random(4)}`
  await life.step('refresh', log.refresh())
  const before = await scan(life, log, log.since.value)
  const counted = Number(await command(life, 'count', file, '--where', where))
  await life.step('refresh', log.refresh())
  const after = await scan(life, log, log.since.value)
  const select = (entries) => entries.filter(({ value }) => `user=${value.user}` === where)
  const first = new Set(select(before).map(({ seq }) => seq))
  const stayed = select(after).filter(({ seq }) => first.has(seq)).length
  const appeared = select(after).filter(({ seq }) => seq > (before.at(-1)?.seq ?? -1)).length
  if (counted >= stayed && counted <= first.size + appeared) return
  await life.fault(`the command counts ${counted} of ${where}, not ${stayed} to ${first.size + appeared}`)
}

/** A backup has what is there before and after, and can be written. */
async function backUp (life, log, file) {
  const { folder, setting } = life
  const copy = path.join(folder, `backup-${process.pid}`, FILES[setting.kind])
  fs.rmSync(path.dirname(copy), { recursive: true, force: true })
  fs.mkdirSync(path.dirname(copy))
  await life.step('refresh', log.refresh())
  const { value: since } = log.since
  if (setting.isFolder || life.random(2) === 0) await command(life, 'snapshot', file, copy)
  else await life.step('snapshot', log.snapshot(copy))
  if (!fs.existsSync(copy)) return
  const after = await scan(life, log, since)
  await command(life, 'verify', copy)
  const backup = open(copy)
  await life.step('open the backup', backup.ready())
  if (backup.recovery !== null) await life.fault(`the backup was recovered: ${JSON.stringify(backup.recovery)}`)
  const found = new Set((await scan(life, backup, backup.since.value)).map(({ seq }) => seq))
  const missing = after.filter(({ seq }) => !found.has(seq))
  if (missing.length > 0) await life.fault(`the backup lacks ${missing.length} records, from ${missing[0].seq} on`)
  await life.step('append to the backup', backup.append({ n: -1 }))
  await life.step('close the backup', backup.close())
}

exports.run = run
