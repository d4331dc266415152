import EFStorageCore
import Foundation

// A container that may not be there, written as EFStorage's documentation shows.

public class Vault: EFFailableUnderlyingStorage {
  public static var isAvailable = true
  private static let shared = Vault()

  public class func makeDefault() -> Self? {
    return isAvailable ? shared as? Self : nil
  }

  public static func == (lhs: Vault, rhs: Vault) -> Bool { lhs === rhs }

  var contents: [String: Data] = [:]
  func set(_ value: Data, forKey key: String) { contents[key] = value }
  func removeObject(forKey key: String) { contents[key] = nil }
}

public protocol VaultStorable {
  func asVaultStorable() -> Result<Data, Error>
  static func fromVault(_ vault: Vault, forKey key: String) -> Self?
}

extension VaultStorable where Self: Codable {
  public func asVaultStorable() -> Result<Data, Error> { Result { try JSONEncoder().encode(self) } }
  public static func fromVault(_ vault: Vault, forKey key: String) -> Self? {
    vault.contents[key].flatMap { try? JSONDecoder().decode(Self.self, from: $0) }
  }
}

extension Int: VaultStorable {}

public class EFStorageVaultRef<Content: VaultStorable>: EFSingleInstanceStorageReference {
  public required init(
    iKnowIShouldNotCallThisDirectlyAndIsResponsibleForUnexpectedBehaviorMyself: Bool,
    forKey key: String, in storage: Vault?
  ) {
    self.key = key
    self.storage = storage
    self.content = storage.flatMap { Content.fromVault($0, forKey: key) }
  }

  public let key: String
  public let storage: Vault?
  public var content: Content? {
    didSet {
      switch content?.asVaultStorable() {
      case .success(let data): storage?.set(data, forKey: key)
      case .failure(let error): assertionFailure("\(error)")
      case nil: storage?.removeObject(forKey: key)
      }
    }
  }
}

@propertyWrapper
public struct EFStorageVault<Content: VaultStorable>: EFSingleInstanceStorageReferenceWrapper {
  public var _ref: EFStorageVaultRef<Content>
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
    __ref: EFStorageVaultRef<Content>,
    makeDefaultContent: @escaping () -> Content,
    persistDefaultContent: Bool
  ) {
    self._ref = __ref
    self.makeDefaultContent = makeDefaultContent
    self.persistDefaultContent = persistDefaultContent
  }
}

public extension EFUnderlyingStorageWrapper {
  subscript<T: VaultStorable>(dynamicMember key: String) -> T? where Base == Vault {
    get { EFStorageVaultRef.forKey(key, in: base).content }
    set { EFStorageVaultRef.forKey(key, in: base).content = newValue }
  }

  subscript<T: VaultStorable>(dynamicMember key: String) -> T? where Base == Vault.Type {
    get { EFStorageVaultRef.forKey(key).content }
    set { EFStorageVaultRef.forKey(key).content = newValue }
  }
}
