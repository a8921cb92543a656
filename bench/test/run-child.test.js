'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { ChildError, runChild } = require('../lib/run')
const { makeFolder } = require('./support')

/** A script with that body. */
function writeScript (t, body) {
  const file = path.join(makeFolder(t), 'child.js')
  fs.writeFileSync(file, body)
  return file
}

async function failureOf (promise) {
  try {
    await promise
  } catch (err) {
    return err
  }
}

tape('run-child: gives an order and an environment, and brings back what is printed', async (t) => {
  const script = writeScript(t, 'console.log(JSON.stringify([process.argv[2], process.env.WORD]))')
  t.deepEqual(await runChild(script, { a: 1 }, { env: { WORD: 'x' } }), ['{"a":1}', 'x'])
})

tape('run-child: a child that fails, is ended or says nothing is told by its fate', async (t) => {
  for (const [body, words] of Object.entries({
    'throw new Error("made of cheese")': ['exited with 1', 'made of cheese'],
    'process.kill(process.pid, "SIGKILL")': ['was ended by SIGKILL'],
    '': ['ended without an answer'],
    'console.log("not JSON")': ['ended without an answer'],
    'console.log(1); process.exitCode = 3': ['exited with 3']
  })) {
    const err = await failureOf(runChild(writeScript(t, body), {}))
    t.ok(err instanceof ChildError && words.every((word) => err.message.includes(word)), `${body}: ${err?.message}`)
  }
})

tape('run-child: the reason of a failure is one line: that of the error, wherever it was thrown, or the fate', async (t) => {
  for (const [body, reason] of Object.entries({
    'throw new Error("made of cheese")': 'made of cheese',
    'setTimeout(() => { throw new TypeError("later") })': 'later',
    'fs.readFileSync("/nowhere")': "ENOENT: no such file or directory, open '/nowhere'",
    'throw Object.assign(new RangeError("two\\nlines"), { code: "ERR_SOME" })': 'two',
    'process.exitCode = 3': 'exited with 3'
  })) {
    const err = await failureOf(runChild(writeScript(t, `const fs = require('node:fs');${body}`), {}))
    t.equal(err?.reason, reason, body)
  }
})

tape('run-child: a child that does not come to its end in time is ended', async (t) => {
  const err = await failureOf(runChild(writeScript(t, 'setInterval(() => {}, 1000)'), {}, { timeoutMs: 50 }))
  t.equal(err?.reason, 'did not come to its end within 0.05 s')
})

tape('run-child: a child that answers and then does not end is ended, and its answer is good', async (t) => {
  const script = writeScript(t, 'console.log(7); setInterval(() => {}, 1000)')
  t.equal(await runChild(script, {}, { exitMs: 50 }), 7)
})
