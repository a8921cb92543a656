'use strict'
// Where each name has its section: on which page, at which anchor. A name of one package may be used on the page of
// another one.

const path = require('node:path')
const { slugOf } = require('../anchors')

/**
 * @typedef {import('typescript').Symbol} Symbol
 * @typedef {import('typescript').Type} Type
 * @typedef {import('./packages').Package} Package
 * @typedef {import('./packages').Export} Export
 * @typedef {import('./shapes').Call} Call
 *
 * @typedef {object} Section  of a value
 * @property {string} name
 * @property {string} heading
 * @property {Symbol} value
 * @property {Call | null} call
 * @property {Call | null} construct
 * @property {Type | null} made  what it gives, if the members of that are shown here
 * @property {string} optionsHeading
 *
 * @typedef {object} Page
 * @property {Package} package
 * @property {Map<string, Section[]>} sections  by the name of the entry
 * @property {Map<Symbol, string>} types  that get a section, with their names
 * @property {Set<string>} anchors  that are taken
 * @property {Map<object, string>} headings  of methods, by their declaration
 * @property {Map<object, Section>} owners  of methods: where they are shown
 */

class Places {
  #packages
  #shapes
  /** @type {Map<unknown, { folder: string, anchor: string }>} by symbol, or by declaration for a method */
  #places = new Map()
  /** @type {Map<string, Page>} by the folder of the package */
  pages = new Map()

  /**
   * @param {import('./packages').Packages} packages
   * @param {import('./shapes').Shapes} shapes
   */
  constructor (packages, shapes) {
    this.#packages = packages
    this.#shapes = shapes
    for (const item of packages.list) this.pages.set(item.folder, this.#plan(item))
  }

  /** @param {Package} item @returns {Page} */
  #plan (item) {
    /** @type {Page} */
    const page = {
      package: item, sections: new Map(), types: new Map(), anchors: new Set(), headings: new Map(), owners: new Map()
    }
    for (const entry of item.entries) this.#planEntry(page, entry)
    for (const { exports } of item.entries) {
      for (const { name, type } of exports) {
        if (type !== null && this.#packages.folderOf(type) === item.folder) this.addType(page, type, name)
      }
    }
    return page
  }

  /** @type {(page: Page, entry: import('./packages').Entry) => void} */
  #planEntry (page, { specifier, exports }) {
    const { name: packageName, folder } = page.package
    const values = exports.filter(({ value }) => value !== null && this.#packages.folderOf(value) === folder)
    const sections = values.map((given) => this.#planValue(given))
    page.sections.set(specifier, sections)
    for (const section of sections) {
      // The sections of the main entry come first.
      if (page.anchors.has(slugOf(section.name))) section.heading = `${section.name} of ${path.posix.basename(specifier)}`
      this.#place(page, section.value, section.heading)
    }
    const makers = sections.filter(({ made }) => made !== null)
    const counts = makers.map(({ made }) => makers.filter((other) => keyOf(other.made) === keyOf(made)).length)
    for (const [index, section] of makers.entries()) {
      // What several functions give is shown as a type.
      if (counts[index] > 1) section.made = null
      else this.#planMade(page, section, specifier === packageName)
    }
    for (const section of sections) this.#planOptions(page, section)
  }

  /** @param {Export} given @returns {Section} */
  #planValue ({ name, value }) {
    const symbol = /** @type {Symbol} */ (value)
    const type = this.#packages.checker.getTypeOfSymbol(symbol)
    const call = this.#shapes.callOf(type)
    const construct = this.#shapes.callOf(type, 'construct')
    const [made] = (construct ?? call)?.returnTypes.map((type) => this.#shapes.awaited(type)) ?? []
    const folder = this.#packages.folderOf(symbol)
    const isMade = made && isNamedLike(made, name) && this.#hasMembers(made, folder, construct !== null)
    return { name, heading: name, value: symbol, call, construct, made: isMade ? made : null, optionsHeading: '' }
  }

  /** Methods, or those of a class. @type {(type: Type, folder: string | null, isClass: boolean) => boolean} */
  #hasMembers (type, folder, isClass) {
    const symbol = keyOf(type)
    if (symbol === undefined || type.isTypeParameter() || this.#packages.folderOf(symbol) !== folder) return false
    return this.#shapes.fieldsOf([type]).some((field) => {
      return isClass || (!field.isOptional && this.#shapes.isMethod(field.type, field.symbol))
    })
  }

  /** @type {(page: Page, section: Section, isMain: boolean) => void} */
  #planMade (page, section, isMain) {
    const made = /** @type {Type} */ (section.made)
    const place = this.#places.get(section.value)
    for (const symbol of [made.aliasSymbol, made.symbol]) {
      if (symbol && place && this.#packages.folderOf(symbol) === page.package.folder) this.#places.set(symbol, place)
    }
    for (const { name, symbol, type } of isMain ? this.#shapes.fieldsOf([made]) : []) {
      const declaration = symbol.declarations?.[0]
      const isOwn = this.#packages.folderOf(symbol) === page.package.folder
      if (!declaration || !isOwn || !this.#shapes.isMethod(type, symbol)) continue
      // What two kinds of objects have is shown with the first one.
      if (page.headings.has(declaration)) continue
      const heading = page.anchors.has(slugOf(name)) ? `${name} of ${section.name}` : name
      this.#place(page, declaration, heading)
      page.headings.set(declaration, heading)
      page.owners.set(declaration, section)
    }
  }

  /** @type {(page: Page, section: Section) => void} */
  #planOptions (page, section) {
    const parameter = (section.call ?? section.construct)?.parameters.find(({ isOptions }) => isOptions)
    if (parameter === undefined) return
    section.optionsHeading = page.anchors.has('options') ? `Options of ${section.name}` : 'Options'
    const anchor = this.#take(page, section.optionsHeading)
    for (const given of parameter.type.symbols) {
      const symbol = this.#packages.resolveType(given)
      const isOwn = this.#packages.folderOf(symbol) === page.package.folder && /Options$/.test(symbol.name)
      if (isOwn && !this.#places.has(symbol)) this.#places.set(symbol, { folder: page.package.folder, anchor })
    }
  }

  /** @type {(page: Page, symbol: Symbol, name: string) => void} */
  addType (page, symbol, name) {
    const declared = this.#packages.checker.getDeclaredTypeOfSymbol(symbol)
    const known = this.#places.get(symbol) ?? (declared.isClass() ? this.#places.get(declared.symbol) : undefined)
    if (known) {
      this.#places.set(symbol, known)
    } else if (!page.anchors.has(slugOf(`Type ${name}`))) {
      page.types.set(symbol, name)
      this.#place(page, symbol, `Type ${name}`)
    }
  }

  /** @type {(page: Page, key: object, heading: string) => void} */
  #place (page, key, heading) {
    const anchor = this.#take(page, heading)
    if (!this.#places.has(key)) this.#places.set(key, { folder: page.package.folder, anchor })
  }

  /** @type {(page: Page, heading: string) => string} */
  #take (page, heading) {
    const anchor = slugOf(heading)
    if (page.anchors.has(anchor)) throw new Error(`two sections of ${page.package.name} have the anchor #${anchor}`)
    page.anchors.add(anchor)
    return anchor
  }

  /** @type {(key: unknown, from: Page) => string | null} the address of a section, as a page links to it */
  find (key, from) {
    const place = this.#places.get(key)
    if (place === undefined) return null
    return place.folder === from.package.folder ? `#${place.anchor}` : `${place.folder}.md#${place.anchor}`
  }

  /** @type {(folder: string, name: string) => string | null} a method or a property of what the package makes first */
  findMember (folder, name) {
    const page = this.pages.get(folder)
    const section = [...page?.sections.values() ?? []].flat().find(({ made }) => made !== null)
    if (!page || !section?.made) return null
    const field = this.#shapes.fieldsOf([section.made]).find((field) => field.name === name)
    const heading = page.headings.get(field?.symbol.declarations?.[0] ?? page)
    return field ? `${folder}.md#${slugOf(heading ?? `Properties of ${section.name}`)}` : null
  }
}

/** Whether a function makes it, and does not only hand it on. @type {(type: Type, name: string) => boolean} */
function isNamedLike (type, name) {
  const made = (keyOf(type)?.name ?? '').toLowerCase()
  const maker = name.toLowerCase()
  const isAnonymous = made.startsWith('__')
  return made !== '' && !isAnonymous && (maker.includes(made) || made.includes(maker) || !type.aliasSymbol)
}

/** @param {Type | null} type */
function keyOf (type) {
  return type?.aliasSymbol ?? type?.symbol
}

exports.Places = Places
exports.keyOf = keyOf
