'use strict'
// A page of another origin, in a real browser, can neither write nor read. A page of the same origin can do both.

const { once } = require('node:events')
const http = require('node:http')
const { browserTest } = require('../../../test/browser')
const { serve } = require('./helpers')

/** A site with an empty page. @param {import('tape').Test} t */
async function startSite (t) {
  const site = http.createServer((request, response) => response.setHeader('Content-Type', 'text/html').end('<title>other</title>'))
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  t.teardown(() => site.close())
  return site.address().port
}

/** All ways that a page has to send a request. Runs in the page. @param {string} url */
async function attack (url) {
  const read = []
  const json = { 'Content-Type': 'application/json' }
  const attempts = [
    () => fetch(`${url}/v1/logs/a`),
    () => fetch(`${url}/v1/logs/a`, { mode: 'no-cors' }),
    () => fetch(`${url}/v1/logs/a`, { method: 'POST', headers: json, body: '"evil"' }),
    () => fetch(`${url}/v1/logs/a`, { method: 'POST', mode: 'no-cors', body: '"evil"' }),
    () => fetch(`${url}/v1/se/evil/fetch`, { method: 'PUT' }),
    () => fetch(`${url}/v1/se/evil/get`, { mode: 'no-cors', referrerPolicy: 'no-referrer' })
  ]
  for (const attempt of attempts) await attempt().then(async (response) => read.push(await response.text()), () => {})
  navigator.sendBeacon(`${url}/v1/logs/a`, '"evil"')
  navigator.sendBeacon(`${url}/v1/se/evil/beacon`)
  const loaded = (element, source) => new Promise((resolve) => {
    element.onload = element.onerror = resolve
    element[source] = `${url}/v1/se/evil/${element.localName}`
    document.head.append(element)
    setTimeout(resolve, 2000)
  })
  await loaded(document.createElement('img'), 'src')
  await loaded(document.createElement('script'), 'src')
  await loaded(Object.assign(document.createElement('link'), { rel: 'stylesheet' }), 'href')
  const frame = document.createElement('iframe')
  frame.name = 'frame'
  document.documentElement.append(frame)
  const form = Object.assign(document.createElement('form'), { method: 'post', target: 'frame', action: `${url}/v1/se/evil/form` })
  document.documentElement.append(form)
  form.submit()
  await new Promise((resolve) => { frame.onload = resolve })
  await loaded(frame, 'src')
  const isOpen = await new Promise((resolve) => {
    const events = new window.EventSource(`${url}/v1/logs/a?gt=-1`)
    events.onopen = events.onmessage = () => resolve(true)
    events.onerror = () => resolve(false)
  })
  return { read: read.join(''), isOpen }
}

browserTest('browser: a page of another origin can neither read nor write', async (t, open) => {
  const { url, post, ask, read } = await serve(t)
  await post('/v1/logs/a', '"secret"')
  const port = await startSite(t)
  // The same site on another port, and another site.
  for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`]) {
    const { page } = await open({ url: origin })
    t.deepEqual(await page.evaluate(attack, url), { read: '', isOpen: false }, `${origin} reads nothing`)
    // A link, which a person clicks.
    await page.evaluate((href) => Object.assign(document.createElement('a'), { href }).click(), `${url}/v1/se/evil/link`)
    await page.waitForURL(`${url}/**`)
    t.match(await page.textContent('body'), /another site/)
  }
  const { records } = await read('/v1/logs/a')
  t.deepEqual(records.map(({ value }) => value), ['secret'], 'nothing was written')
  t.equal((await ask('/v1/logs/se')).status, 404, 'no event either')
})

browserTest('browser: a page that the server itself shows may read and write', async (t, open) => {
  const { url, read } = await serve(t)
  const { page } = await open({ url: `${url}/healthz` })
  const status = await page.evaluate(async () => {
    const headers = { 'Content-Type': 'application/json' }
    return (await fetch('/v1/logs/a', { method: 'POST', headers, body: '"own"' })).status
  })
  t.equal(status, 200)
  t.deepEqual((await read('/v1/logs/a')).records.map(({ value }) => value), ['own'])
})
