public import EFStorageCore

/// What every container of EFStorage has to keep, as a check for a container of your own. It depends on no testing
/// library:
///
/// ```swift
/// let conformance = EFStorageConformance<EFStorageLMDBCache<String>>(
///   storage: cache, other: otherCache, contents: ["a", "b"])
/// assert(conformance.violations().isEmpty)
/// ```
///
/// It writes to keys that begin with ``keyPrefix``, and removes them again.
public struct EFStorageConformance<Wrapper: EFSingleInstanceStorageReferenceWrapper> where Wrapper.Content: Equatable {
  public typealias Content = Wrapper.Content
  public typealias Ref = Wrapper.Ref
  public typealias Storage = Ref.Storage

  let storage: Storage
  let other: Storage
  let contents: [Content]

  /// The beginning of every key that is used.
  public var keyPrefix = "conformance."

  /// Writes, or removes, a content with the storage's own interface, past all references. Given it, the check asks that
  /// references see it.
  public var writePast: ((Storage, String, Content?) throws -> Void)?
  /// Stores something that cannot be read as a `Content`. Given it, the check asks that it is kept and told.
  public var writeUnreadable: ((Storage, String) throws -> Void)?
  /// Whether anything is stored under a key, readable or not.
  public var holdsAnything: ((Storage, String) throws -> Bool)?

  /// - Parameters:
  ///   - storage: What is checked.
  ///   - other: Another one of its type, with contents of its own.
  ///   - contents: Two different contents or more.
  public init(storage: Storage, other: Storage, contents: [Content]) {
    precondition(contents.count >= 2 && contents[0] != contents[1], "Two different contents are needed.")
    self.storage = storage
    self.other = other
    self.contents = contents
  }

  /// Descriptions of what is not as it should be; empty if all is.
  public func violations() -> [String] {
    var report = Report()
    checkReading(&report)
    checkIdentity(&report)
    checkDefaults(&report)
    checkMembers(&report)
    checkWritesPast(&report)
    checkUnreadable(&report)
    return report.violations
  }

  struct Report {
    var violations: [String] = []

    mutating func expect(_ isMet: Bool, _ violation: @autoclosure () -> String) {
      if !isMet { violations.append(violation()) }
    }

    /// Runs a part that may throw, which is a violation then.
    mutating func part(_ name: String, _ body: (inout Report) throws -> Void) {
      do { try body(&self) } catch { violations.append("\(name) threw \(error)") }
    }
  }

  func key(_ name: String) -> String { keyPrefix + name }

  func reference(_ name: String, in storage: Storage? = nil) -> Ref {
    Ref.forKey(key(name), in: storage ?? self.storage)
  }

  func wrapper(_ name: String, default content: @escaping @autoclosure () -> Content, persists: Bool = false) -> Wrapper
  {
    Wrapper(wrappedValue: content(), forKey: key(name), in: storage, persistDefaultContent: persists)
  }

  private func checkReading(_ report: inout Report) {
    report.part("Reading and writing") { report in
      var reference = reference("reading")
      defer { reference.content = nil }
      report.expect(try reference.content == nil && reference.loadContent() == nil, "There is a content at first.")
      for content in contents {
        reference.content = content
        report.expect(reference.content == content, "\(content) was set, and \(reference.content as Any) is read.")
        report.expect(try reference.loadContent() == content, "loadContent() does not give what was set.")
      }
      try reference.storeContent(contents[1])
      report.expect(reference.content == contents[1], "storeContent(_:) does not store.")
      reference.content = nil
      report.expect(reference.content == nil, "A content that was removed is still there.")
      reference.content = contents[0]
      try reference.storeContent(nil)
      report.expect(reference.content == nil, "storeContent(nil) does not remove.")
    }
  }

  private func checkIdentity(_ report: inout Report) {
    report.part("Identity") { report in
      var one = reference("identity")
      var another = reference("identity", in: other)
      defer {
        one.content = nil
        another.content = nil
      }
      report.expect(one === reference("identity"), "Two references to one key of one storage are not the same.")
      report.expect(one !== another, "References to a key in two storages are the same.")
      report.expect(one !== reference("identity2"), "References to two keys are the same.")
      one.content = contents[0]
      report.expect(another.content == nil, "A write to one storage is read from another.")
      another.content = contents[1]
      report.expect(one.content == contents[0], "A write to one storage changed another.")
      report.expect(one.key == key("identity") && one.storage == storage, "A reference has another key or storage.")
    }
    report.part("Lifetime") { report in
      weak var weakReference: Ref?
      do {
        var reference = reference("lifetime")
        weakReference = reference
        reference.content = contents[0]
      }
      report.expect(weakReference == nil, "A reference that nobody holds is still there.")
      var again = reference("lifetime")
      report.expect(again.content == contents[0], "A content is gone with its reference.")
      again.content = nil
    }
  }

  private func checkDefaults(_ report: inout Report) {
    report.part("Defaults") { report in
      var reference = reference("default")
      defer { reference.content = nil }
      var wrapper = wrapper("default", default: contents[0])
      report.expect(wrapper.wrappedValue == contents[0], "The default is not the value where nothing is stored.")
      report.expect(reference.content == nil, "A default was stored that was not to be.")
      wrapper.wrappedValue = contents[1]
      report.expect(wrapper.wrappedValue == contents[1] && reference.content == contents[1], "A value was not stored.")
      report.expect(wrapper.content == contents[1], "A wrapper's content is not its value.")
      wrapper.removeContentFromUnderlyingStorage()
      report.expect(wrapper.wrappedValue == contents[0], "After removing the value is not the default.")
    }
    report.part("Defaults that are stored") { report in
      var reference = reference("persisted")
      defer { reference.content = nil }
      let persisting = wrapper("persisted", default: contents[0], persists: true)
      report.expect(reference.content == contents[0], "The default was not stored when the property was made.")
      persisting.removeContentFromUnderlyingStorage()
      report.expect(reference.content == nil, "Removing does not remove.")
      report.expect(persisting.wrappedValue == contents[0], "The value is not the default.")
      report.expect(reference.content == contents[0], "The default was not stored when the value was read.")
      reference.content = contents[1]
      let later = wrapper("persisted", default: contents[0], persists: true)
      report.expect(later.wrappedValue == contents[1], "A default replaced what was stored.")
    }
  }

  private func checkMembers(_ report: inout Report) {
    report.part("Composition") { report in
      var first = reference("first")
      var second = reference("second")
      defer {
        first.content = nil
        second.content = nil
      }
      let both = wrapper("first", default: contents[0]) + wrapper("second", default: contents[1])
      report.expect(both.wrappedValue == contents[0], "The default of a composition is not its first part's.")
      second.content = contents[1]
      report.expect(both.wrappedValue == contents[1], "A composition does not read its second part.")
      report.expect(first.content == nil, "Reading a composition wrote to its first part.")
      both.wrappedValue = contents[0]
      report.expect(first.content == contents[0] && second.content == contents[0], "Not both parts were written.")
    }
  }

  private func checkWritesPast(_ report: inout Report) {
    guard let writePast else { return }
    report.part("Writes past the reference") { report in
      var reference = reference("past")
      defer { reference.content = nil }
      report.expect(reference.content == nil, "There is a content at first.")
      for content in contents + contents {
        try writePast(storage, key("past"), content)
        report.expect(reference.content == content, "A write past the reference is not seen.")
      }
      try writePast(storage, key("past"), nil)
      report.expect(reference.content == nil, "A removal past the reference is not seen.")
    }
  }

  private func checkUnreadable(_ report: inout Report) {
    guard let writeUnreadable else { return }
    report.part("What cannot be read") { report in
      var reference = reference("unreadable")
      defer { reference.content = nil }
      try writeUnreadable(storage, key("unreadable"))
      report.expect(reference.content == nil, "What cannot be read is read as \(reference.content as Any).")
      for _ in 0..<2 {
        do {
          _ = try reference.loadContent()
          report.expect(false, "loadContent() does not tell of what cannot be read.")
        } catch {}
      }
      let persisting = wrapper("unreadable", default: contents[0], persists: true)
      report.expect(persisting.wrappedValue == contents[0], "The value is not the default.")
      if let holdsAnything {
        report.expect(try holdsAnything(storage, key("unreadable")), "What cannot be read was removed.")
      }
      report.expect(reference.content == nil, "What cannot be read was replaced by the default.")
      let composed =
        EFStorageComposition(
          persisting, wrapper("readable", default: contents[0], persists: true), backfillsFirst: true)
      report.expect(composed.content == contents[0], "A composition does not read its second part.")
      report.expect(reference.content == nil, "What cannot be read was replaced by the second part's content.")
      self.reference("readable").removeContent()
      reference.content = contents[1]
      report.expect(reference.content == contents[1], "What cannot be read cannot be replaced.")
    }
  }
}

extension EFSingleInstanceStorageReference {
  fileprivate func removeContent() {
    var reference = self
    reference.content = nil
  }
}
