public import EFStorageCore

// A user-defined container, as shown in EFStorage's documentation, in Swift 6 mode and without Foundation. Swift 6
// additionally requires the annotation of `shared`.

public final class Drawer: Equatable {
  nonisolated(unsafe) public static let shared = Drawer()

  public static func == (lhs: Drawer, rhs: Drawer) -> Bool { lhs === rhs }

  var contents: [String: String] = [:]

  func set(_ value: String, forKey key: String) { contents[key] = value }
  func string(forKey key: String) -> String? { contents[key] }
  func removeObject(forKey key: String) { contents[key] = nil }
}

extension Drawer: EFUnderlyingStorage {
  public class func makeDefault() -> Self {
    return shared as! Self
  }
}

public protocol DrawerStorable {
  func asDrawerStorable() -> String!
  static func fromDrawer(_ drawer: Drawer, forKey key: String) -> Self?
}

extension String: DrawerStorable {
  public func asDrawerStorable() -> String! { self }
  public static func fromDrawer(_ drawer: Drawer, forKey key: String) -> String? { drawer.string(forKey: key) }
}

public class EFStorageDrawerRef<Content: DrawerStorable>: EFSingleInstanceStorageReference {
  public required init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself: Bool,
    forKey key: String, in storage: Drawer
  ) {
    self.key = key
    self.storage = storage
    self.content = Content.fromDrawer(storage, forKey: key)
  }

  public let key: String
  public let storage: Drawer
  public var content: Content? {
    didSet {
      if let newValue = content {
        storage.set(newValue.asDrawerStorable(), forKey: key)
      } else {
        storage.removeObject(forKey: key)
      }
    }
  }
}

@propertyWrapper
public struct EFStorageDrawer<Content: DrawerStorable>: EFSingleInstanceStorageReferenceWrapper {
  public var _ref: EFStorageDrawerRef<Content>
  public var wrappedValue: Content {
    get {
      if let content = _ref.content { return content }
      let defaultContent = makeDefaultContent()
      if persistDefaultContent { _ref.content = defaultContent }
      return defaultContent
    }
    set { _ref.content = newValue }
  }

  public let persistDefaultContent: Bool
  public let makeDefaultContent: () -> Content
  public func removeContentFromUnderlyingStorage() {
    _ref.content = nil
  }

  public init(
    __ref: EFStorageDrawerRef<Content>,
    makeDefaultContent: @escaping () -> Content,
    persistDefaultContent: Bool
  ) {
    self._ref = __ref
    self.makeDefaultContent = makeDefaultContent
    self.persistDefaultContent = persistDefaultContent
  }
}
