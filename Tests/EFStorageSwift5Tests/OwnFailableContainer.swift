import EFStorageCore

// A container that may not be there, written as EFStorage's documentation shows.

public class Vault: EFFailableUnderlyingStorage {
  public static var isAvailable = true
  private static let shared = Vault()

  public class func makeDefault() -> Self? {
    return isAvailable ? shared as? Self : nil
  }

  public static func == (lhs: Vault, rhs: Vault) -> Bool { lhs === rhs }

  var contents: [String: Int] = [:]
}

public class EFStorageVaultRef: EFSingleInstanceStorageReference {
  public typealias Content = Int

  public required init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself: Bool,
    forKey key: String, in storage: Vault?
  ) {
    self.key = key
    self.storage = storage
    self.content = storage?.contents[key]
  }

  public let key: String
  public let storage: Vault?
  public var content: Int? {
    didSet { storage?.contents[key] = content }
  }
}

@propertyWrapper
public struct EFStorageVault: EFSingleInstanceStorageReferenceWrapper {
  public typealias Content = Int

  public var _ref: EFStorageVaultRef
  public var wrappedValue: Int {
    get {
      if let content = _ref.content { return content }
      let defaultContent = makeDefaultContent()
      if persistDefaultContent { _ref.content = defaultContent }
      return defaultContent
    }
    set { _ref.content = newValue }
  }

  public let persistDefaultContent: Bool
  public let makeDefaultContent: () -> Int
  public func removeContentFromUnderlyingStorage() {
    _ref.content = nil
  }

  public init(__ref: EFStorageVaultRef, makeDefaultContent: @escaping () -> Int, persistDefaultContent: Bool) {
    self._ref = __ref
    self.makeDefaultContent = makeDefaultContent
    self.persistDefaultContent = persistDefaultContent
  }
}

public extension EFUnderlyingStorageWrapper {
  subscript(dynamicMember key: String) -> Int? where Base == Vault {
    get { EFStorageVaultRef.forKey(key, in: base).content }
    set { EFStorageVaultRef.forKey(key, in: base).content = newValue }
  }

  subscript(dynamicMember key: String) -> Int? where Base == Vault.Type {
    get { EFStorageVaultRef.forKey(key).content }
    set { EFStorageVaultRef.forKey(key).content = newValue }
  }
}
