// @ts-nocheck
'use strict'
// What a process reads, beside what it must read: by a plain scan, with a function in place of the filter. Others may
// delete and drop meanwhile, so the scan is done before and after.

const { collect } = require('@millrace/testkit')
const { chooseFilter, isRight } = require('./records')

/** A view that lists the numbers of all records that it has seen. */
const listView = {
  name: 'list',
  initial: [],
  reduce: (list, { n }) => {
    list.push(n)
    return list
  }
}

async function checkRead (life, log) {
  const { random } = life
  const { value: since } = log.since
  const before = await scan(life, log, since)
  if (before.length === 0) return
  const { where, matches } = chooseFilter(random, before[random(before.length)].value.n)
  const chooseSeq = () => before[random(before.length)].seq
  const bounds = { lte: random(3) === 0 ? chooseSeq() : since, ...random(3) === 0 && { gt: chooseSeq() } }
  const limit = random(3) === 0 ? 1 + random(20) : -1
  const options = { ...bounds, where, reverse: random(2) === 0, limit, onRetained: 'skip' }
  if (options.gt >= options.lte) return
  const answer = await life.step('stream by a filter', collect(log.stream(options)))
  const count = await life.step('count', log.count({ ...bounds, where, onRetained: 'skip' }))
  const after = await scan(life, log, since)
  const select = (entries) => {
    const chosen = entries.filter(({ seq, value }) => seq <= bounds.lte && !(seq <= bounds.gt) && matches(value))
    return options.reverse ? chosen.reverse() : chosen
  }
  const [may, must] = [select(before), select(after)]
  // What was deleted since the last look, a follower may still have in its cache.
  const isLate = life.role === 'follower'
  const known = new Set(may.map(({ seq }) => seq))
  const surplus = answer.filter(({ seq }) => !known.has(seq))
  for (const entry of isLate ? surplus.slice() : []) {
    await log.refresh()
    const code = await log.get(entry.seq).then(() => null, (err) => err.code)
    if (code === 'flumelog:deleted' && matches(entry.value)) surplus.splice(surplus.indexOf(entry), 1)
  }
  const isWrong = count < must.length || (count > may.length && !isLate)
  const fault = compare(answer, surplus, must, options) ??
    (isWrong ? `count is ${count}, not ${must.length} to ${may.length}` : null)
  if (fault === null) return
  const explained = await log.explain(options)
  await life.fault(`${fault}; ${JSON.stringify(options)}, since ${since} then ${log.since.value}: ${JSON.stringify(explained)}`)
}

/** @returns what is wrong with an answer; null if nothing is */
function compare (answer, surplus, must, { limit, reverse }) {
  if (surplus.length > 0) return `${surplus[0].seq} (${surplus[0].value.n}) is too much`
  const wrong = answer.find(({ value }) => !isRight(value))
  if (wrong) return `the record ${wrong.seq} is wrong: ${JSON.stringify(wrong.value).slice(0, 200)}`
  const isBefore = (a, b) => reverse ? a.seq > b.seq : a.seq < b.seq
  if (answer.some((entry, i) => i > 0 && !isBefore(answer[i - 1], entry))) return `not in order: ${answer.map(({ seq }) => seq)}`
  const found = new Set(answer.map(({ seq }) => seq))
  const isFull = answer.length === limit
  const missing = must.filter((entry) => !found.has(entry.seq) && (!isFull || isBefore(entry, answer.at(-1))))
  return missing.length > 0 ? `${missing.length} of ${must.length} are missing, from ${missing[0].seq} (${missing[0].value.n}) on` : null
}

async function scan (life, log, since) {
  const entries = since < 0 ? [] : await life.step('scan', collect(log.stream({ lte: since, onRetained: 'skip' })))
  const wrong = entries.find(({ value }) => !isRight(value))
  if (wrong) await life.fault(`the record ${wrong.seq} is wrong: ${JSON.stringify(wrong.value).slice(0, 200)}`)
  if (entries.some(({ seq }, i) => i > 0 && seq <= entries[i - 1].seq)) await life.fault('a scan is not in order')
  return entries
}

/** Its list has what the log has, and rises. */
async function checkView (life, log, view) {
  const { value: since } = log.since
  let list
  try {
    list = await life.step('view', view.get())
  } catch (err) {
    // What is left is the beginning, as some of it was dropped before it was read.
    if (err.code !== 'ERR_VIEW_STALE' || life.setting.drops === 'none') throw err
    await life.step('rebuild', view.rebuild())
    list = await view.get()
  }
  const known = new Set(list)
  const wrong = list.findIndex((n, i) => i > 0 && n <= list[i - 1])
  if (wrong >= 0) await life.fault(`the view has ${list[wrong]} after ${list[wrong - 1]}`)
  const missing = (await scan(life, log, since)).filter(({ value }) => !known.has(value.n))
  if (missing.length > 0) {
    await life.fault(`the view lacks ${missing.length} records, from ${missing[0].seq} (${missing[0].value.n}) to ` +
      `${missing.at(-1).seq}; it has ${list.length}, ${JSON.stringify(view.status())}`)
  }
  return list
}

exports.checkRead = checkRead
exports.checkView = checkView
exports.listView = listView
exports.scan = scan
