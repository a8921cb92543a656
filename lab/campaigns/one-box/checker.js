// @ts-nocheck
'use strict'
// Looks at the log of a box at rest, and tells what is in it.

const { execFile } = require('node:child_process')
const path = require('node:path')
const { checkRead, checkView, listView, scan } = require('./reads')
const { openLog, pathOf } = require('./settings')

const COMMAND = path.join(path.dirname(require.resolve('millrace/package.json')), 'bin', 'millrace.js')
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
  await life.step('close', log.close())
  await verify(life, file)
  // Of few records there may be none.
  const hasIndex = async () => JSON.parse(await command(life, 'index', file, '--list', '--json')).runs.length > 0
  if (entries.length > 0 && await hasIndex()) await command(life, 'index', file, '--verify', ...random(4) === 0 ? ['--all'] : [])
  const count = Number(await command(life, 'count', file))
  if (count !== entries.length) await life.fault(`the command counts ${count}, not ${entries.length}`)
  await life.tell({ entries: entries.map(({ seq, value }) => ({ seq, n: value.n })), list })
}

const verify = (life, file) => command(life, 'verify', file)

/** @returns {Promise<string>} what it prints */
function command (life, ...args) {
  return life.step(args.join(' '), new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, ...args], async (err, stdout, stderr) => {
      if (err) await life.fault(`millrace ${args.join(' ')} ended with ${err.code ?? err.signal}: ${stdout} ${stderr}`)
      resolve(stdout)
    })
  }))
}

exports.command = command
exports.run = run
