'use strict'
// Installs the packed packages in an empty folder and uses them under Node.js, Bun and Deno. It fails if a part does
// not do what the README says of it. Usage: npm run pack:runtimes

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { install, packAll, run, temporaryFolder } = require('./consumer')

const root = path.join(__dirname, '..', '..')
/** How each runs a file, and which parts are known not to work. */
const RUNTIMES = [
  { name: 'node', command: () => [process.execPath], version: ['--version'], broken: /** @type {string[]} */ ([]) },
  { name: 'bun', command: binary, version: ['--version'], broken: /** @type {string[]} */ ([]) },
  { name: 'deno', command: (/** @type {string} */ folder) => [...binary(folder, 'deno'), 'run', '-A'], version: ['--version'], broken: /** @type {string[]} */ ([]) }
]

main().catch((err) => {
  console.error(err)
  process.exitCode = 1
})

async function main () {
  const folder = temporaryFolder()
  const tarballs = await packAll(folder)
  const consumer = path.join(folder, 'consumer')
  fs.mkdirSync(consumer)
  await install(consumer, [...tarballs, 'bun@1', 'deno@2'])
  fs.copyFileSync(path.join(root, 'test', 'packed', 'runtime.mjs'), path.join(consumer, 'runtime.mjs'))
  for (const { name, command, version, broken } of RUNTIMES) {
    const [file, ...args] = command(consumer, name)
    const { stdout: found } = await run(file, version, { cwd: consumer })
    console.log(`${name} ${found.split('\n')[0]}`)
    const { stdout, stderr } = await run(file, [...args, 'runtime.mjs', temporaryFolder()], { cwd: consumer, timeout: 300_000 })
    const reports = stdout.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
    for (const { title, problem } of reports) console.log(`  ${problem ? 'no ' : 'yes'}  ${title}${problem ? `: ${problem}` : ''}`)
    const failed = reports.filter(({ problem }) => problem).map(({ title }) => title)
    if (reports.length === 0 || failed.join() !== broken.join()) {
      console.error(`${name}: ${reports.length} parts were tried; expected to fail: ${broken.join(', ') || 'none'}\n${stderr}`)
      process.exitCode = 1
    }
  }
  await runRestricted(consumer)
}

/**
 * Under Deno a program may have the permission to read and write files, and no other. Then the record is the lock, and
 * the log says so.
 * @param {string} consumer
 */
async function runRestricted (consumer) {
  fs.copyFileSync(path.join(root, 'test', 'packed', 'restricted.mjs'), path.join(consumer, 'restricted.mjs'))
  const [deno] = binary(consumer, 'deno')
  const args = ['run', '--no-prompt', '--allow-read', '--allow-write', 'restricted.mjs', temporaryFolder()]
  const report = async () => {
    const { stdout, stderr } = await run(deno, args, { cwd: consumer, timeout: 60_000 })
    return stdout === '' ? stderr : stdout
  }
  const opened = await report()
  const holder = spawn(deno, [...args, 'hold'], { cwd: consumer, stdio: ['ignore', 'pipe', 'inherit'] })
  await once(holder.stdout, 'data')
  const refused = await report()
  holder.kill('SIGKILL')
  const isRight = /"lock":"file","blindSpot":"[^"]+","count":1/.test(opened) && refused === '{"code":"ERR_LOG_LOCKED"}\n'
  console.log(`  ${isRight ? 'yes' : 'no '}  one writer, by its record, with the permissions to read and write only${isRight ? '' : `: ${opened}${refused}`}`)
  if (!isRight) process.exitCode = 1
}

/**
 * @param {string} folder
 * @param {string} name
 */
function binary (folder, name) {
  return [path.join(folder, 'node_modules', '.bin', name)]
}
