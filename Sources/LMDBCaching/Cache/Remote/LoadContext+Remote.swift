extension LoadContext {
  package mutating func inherit(_ entry: PortableEntry, revision: UInt64) {
    inherited = InheritedEntry(revision: revision, expires: entry.header.expires, tags: entry.tags)
    cost = entry.header.cost
  }
}
