'use strict'
// Pages in a real browser, for the tests of what people look at: Debian's chromium or another one that is installed,
// driven by playwright-core. Where there is none, a test says how to get one, and passes.

const fs = require('node:fs')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const { chromium } = require('playwright-core')
const tape = require('tape')

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
// Long, for machines that are busy with other tests.
const TIMEOUT_MS = 120_000
const ADVICE = 'no Chromium: apt-get install chromium, or say where one is with CHROMIUM=/path/to/it'

/** @returns {string | undefined}  the program */
function findChromium () {
  const { CHROMIUM, PATH = '' } = process.env
  if (CHROMIUM) return CHROMIUM
  const places = PATH.split(path.delimiter).flatMap((folder) => NAMES.map((name) => path.join(folder, name)))
  return places.find((file) => fs.existsSync(file))
}

/**
 * How a page is shown. `path` is of a file, `url` of anything else.
 * @typedef {{ path?: string, url?: string, width?: number, height?: number, isDark?: boolean, zoom?: number,
 *   locale?: string, timezoneId?: string }} View
 */

/**
 * @typedef {object} Opened
 * @property {import('playwright-core').Page} page
 * @property {string[]} requests  the URLs of all that the page has asked for, itself first
 * @property {string[]} complaints  errors and warnings of its console, and what it threw
 */

/**
 * Opens pages in a browser of its own, which ends after the work.
 * @template T
 * @param {(open: (view: View) => Promise<Opened>) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withBrowser (work) {
  // Pages of ours only; root, as which containers often run, cannot have Chromium's sandbox.
  const browser = await chromium.launch({ executablePath: findChromium(), chromiumSandbox: false, timeout: TIMEOUT_MS })
  try {
    return await work(async (view) => {
      const { width = 1440, height = 1000, isDark = false, zoom = 1, locale, timezoneId, ...place } = view
      const context = await browser.newContext({
        viewport: { width, height },
        deviceScaleFactor: zoom,
        colorScheme: isDark ? 'dark' : 'light',
        reducedMotion: 'reduce',
        ...(locale ? { locale } : {}),
        ...(timezoneId ? { timezoneId } : {})
      })
      context.setDefaultTimeout(TIMEOUT_MS)
      const page = await context.newPage()
      /** @type {Opened} */
      const opened = { page, requests: [], complaints: [] }
      context.on('request', (request) => opened.requests.push(request.url()))
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) opened.complaints.push(message.text())
      })
      page.on('pageerror', (err) => opened.complaints.push(String(err)))
      await page.goto(place.url ?? String(pathToFileURL(place.path ?? '')))
      return opened
    })
  } finally {
    await browser.close()
  }
}

/**
 * A test in a browser, or a line that says how to get one.
 * @param {string} title
 * @param {(t: import('tape').Test, open: (view: View) => Promise<Opened>) => Promise<unknown>} test
 */
function browserTest (title, test) {
  tape(title, async (t) => {
    if (findChromium() === undefined) t.skip(ADVICE)
    else await withBrowser((open) => test(t, open))
  })
}

/**
 * What a page asks of a reader with a small screen: nothing is wider than it, except where it scrolls by itself.
 * @param {import('playwright-core').Page} page
 * @returns {Promise<boolean>}
 */
function scrollsSideways (page) {
  return page.evaluate('document.documentElement.scrollWidth > innerWidth')
}

exports.withBrowser = withBrowser
exports.browserTest = browserTest
exports.scrollsSideways = scrollsSideways
