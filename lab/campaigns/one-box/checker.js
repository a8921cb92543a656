// @ts-nocheck
'use strict'
// Looks at the log of a box at rest, and tells what is in it.

const path = require('node:path')
const { fileStorage } = require('@millrace/block-file')
const { listRuns } = require('@millrace/index')
const { command } = require('./command')
const { checkServed } = require('./http/check')
const { checkRead, checkView, listView, scan } = require('./reads')
const { readSent, sendFrom } = require('./sender')
const { openLog, pathOf } = require('./settings')
const { isOfAnother, shipFrom } = require('./shipper')

const READ_COUNT = 12

async function run (life) {
  const { folder, setting, options, random } = life
  const file = pathOf(folder, setting)
  // The log lies as its last writer has left it.
  if (!life.isFirstRound && random(2) === 0) await verify(life, file)
  const log = openLog(folder, setting, options)
  await life.step('open', log.ready())
  const { damage = [], flaws = [] } = log.recovery ?? {}
  if (damage.length + flaws.length > 0) await life.fault(`recovery found ${JSON.stringify(log.recovery)}`)
  const entries = await scan(life, log, log.since.value)
  for (let i = 0; i < READ_COUNT; i++) await checkRead(life, log)
  if (log.index) await life.step('index', log.index.ready())
  for (let i = 0; i < READ_COUNT; i++) await checkRead(life, log)
  const list = await checkView(life, log, log.view(listView))
  life.isStopping = true
  await shipFrom(life, log).catch((err) => {
    if (!life.isCut(err) && !isOfAnother(life, err)) throw err
  })
  await checkSent(life, log)
  await life.step('close', log.close())
  await verify(life, file)
  // Of few records, or after a kill, there may be none.
  const runs = await listRuns(fileStorage, setting.isFolder ? path.join(file, 'index') : `${file}.index`)
  if (entries.length > 0 && runs.length > 0) await command(life, 'index', file, '--verify', ...random(4) === 0 ? ['--all'] : [])
  if (setting.http) await checkServed(life)
  // Opening may have dropped some of them.
  const left = openLog(folder, setting, options, { flags: 'r' })
  await life.step('open', left.ready())
  const expected = (await scan(life, left, left.since.value)).length
  await life.step('close', left.close())
  const count = Number(await command(life, 'count', file))
  if (count !== expected) await life.fault(`the command counts ${count}, not ${expected}`)
  await life.tell({ entries: entries.map(({ seq, value }) => ({ seq, n: value.n })), list })
}

/** Whatever is in the log was sent, some of it more than once. */
async function checkSent (life, log) {
  const reports = await sendFrom(life, log).catch((err) => {
    if (!life.isCut(err)) throw err
  })
  if (!reports) return
  const sent = readSent(life)
  const missing = (await scan(life, log, log.since.value)).filter(({ value: { n } }) => !sent.has(n))
  if (missing.length === 0) return
  await life.fault(`${missing.length} records were not sent, from ${missing[0].seq} (${missing[0].value.n}) to ` +
    `${missing.at(-1).seq}: ${JSON.stringify(reports)}`)
}

const verify = (life, file) => command(life, 'verify', file)

exports.run = run
