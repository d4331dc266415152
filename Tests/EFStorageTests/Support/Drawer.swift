import EFStorageCore

// A container of texts, as a user of EFStorage writes it: its references keep their content.

final class Drawer: EFUnderlyingStorage {
  nonisolated(unsafe) static let shared = Drawer()

  static func == (lhs: Drawer, rhs: Drawer) -> Bool { lhs === rhs }
  class func makeDefault() -> Self { shared as! Self }

  var contents: [String: String] = [:]
}

class EFStorageDrawerRef: EFSingleInstanceStorageReference {
  typealias Content = String

  let key: String
  let storage: Drawer
  var content: String? {
    didSet { storage.contents[key] = content }
  }

  required init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself: Bool,
    forKey key: String, in storage: Drawer
  ) {
    self.key = key
    self.storage = storage
    content = storage.contents[key]
  }
}

@propertyWrapper
struct EFStorageDrawer: EFSingleInstanceStorageReferenceWrapper {
  typealias Content = String

  var _ref: EFStorageDrawerRef
  let makeDefaultContent: () -> String
  let persistDefaultContent: Bool

  init(__ref: EFStorageDrawerRef, makeDefaultContent: @escaping () -> String, persistDefaultContent: Bool) {
    _ref = __ref
    self.makeDefaultContent = makeDefaultContent
    self.persistDefaultContent = persistDefaultContent
  }

  var wrappedValue: String {
    get {
      if let content = _ref.content { return content }
      let defaultContent = makeDefaultContent()
      if persistDefaultContent { _ref.content = defaultContent }
      return defaultContent
    }
    set { _ref.content = newValue }
  }

  func removeContentFromUnderlyingStorage() { _ref.content = nil }
}
