import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation
import Testing

// EFStorage's usage page, as its users write it.

struct Settings {
  @EFStorageUserDefaults(forKey: "someKey")
  var someValueToBeStoredInUserDefaults: String = "Default Value"

  @EFStorageUserDefaults(forKey: "anotherKey", in: UserDefaults.standard, persistDefaultContent: true)
  var inAnotherStorage: Bool = true

  @EFStorageComposition(
    EFStorageUserDefaults(wrappedValue: false, forKey: "isNewUser"),
    EFStorageVault(wrappedValue: 1, forKey: "isNewUserNumber").asBool)
  var isNewUser: Bool

  @SomeEFStorage(
    EFStorageUserDefaults(wrappedValue: false, forKey: "paidBefore")
      + EFStorageUserDefaults(wrappedValue: false, forKey: "paid")
      + EFStorageUserDefaults(wrappedValue: true, forKey: "oldHasPaidBeforeKey", persistDefaultContent: true))
  var hasPaidBefore: Bool

  @EFStorageComposition(
    EFStorageUserDefaults<String>(wrappedValue: "Nah", forKey: "sameKey"),
    EFStorageMigrate(
      from: EFStorageUserDefaults<Int>(wrappedValue: 1551, forKey: "sameKey", persistDefaultContent: true),
      by: { number in String(number) }
    )
  )
  var mixedType: String

  @EFStorageVault(forKey: "vault", persistDefaultContent: true)
  var vault: Int = 7

  @EFStorageUserDefaults(forKey: "nickname")
  var nickname: String?
}

extension EFStorageVault {
  var asBool: EFStorageMigrate<Self, Int, Bool> { EFStorageMigrate(from: self, by: { $0 == 1 }) }
}

@Suite(.serialized)
struct UsageTests {
  init() {
    for key in UserDefaults.standard.dictionaryRepresentation().keys {
      UserDefaults.standard.removeObject(forKey: key)
    }
  }

  @Test func theOriginalsOtherNames() {
    // Other tests use the standard defaults, so they stay.
    UserDefaults.shared = UserDefaults.shared
    let threshold = _EFStorageInternal.threshold
    _EFStorageInternal.threshold = threshold
    _efStorageLog("SWAP: \(UserDefaults.shared)")
  }

  @Test func properties() {
    let settings = Settings()
    #expect(settings.someValueToBeStoredInUserDefaults == "Default Value")
    settings.someValueToBeStoredInUserDefaults = "new"
    #expect(UserDefaults.standard.string(forKey: "someKey") == "new")
    #expect(UserDefaults.standard.bool(forKey: "anotherKey"))
    #expect(settings.isNewUser == false)
    settings.isNewUser = true
    #expect(settings.isNewUser)
    #expect(settings.nickname == nil)
    settings.nickname = "somebody"
    #expect(settings.nickname == "somebody")
    #expect(Vault.efStorage.vault as Int? == 7)
  }

  @available(*, deprecated, message: "It uses what is deprecated.")
  @Test func oldSpelling() {
    struct Old {
      @EFStorageUserDefaults(forKey: "oldSpelling", defaultsTo: "old")
      var spelling: String
    }
    #expect(Old().spelling == "old")
  }

  @Test func members() {
    let someReference: EFStorageUserDefaultsRef<String> = UserDefaults.efStorage.someKey
    #expect(someReference === EFStorageUserDefaultsRef<String>.forKey("someKey"))
    UserDefaults.efStorage.someKey = "OwO"
    #expect(someReference.content == "OwO" && someReference.count == 3)
    #expect(UserDefaults.efStorage.someKey as String? == "OwO")
    UserDefaults.standard.efStorage.anotherKey = false
    let reference: EFStorageUserDefaultsRef<Bool> = UserDefaults.standard.efStorage.anotherKey
    #expect(reference.content == false)
    let string = EFStorageUserDefaultsRef<NSString>.forKey("nsString")
    string.content = "WOW"
    #expect(string.string == "WOW")
  }

  @Test func migration() {
    let settings = Settings()
    #expect(settings.hasPaidBefore)
    #expect(settings.mixedType == "1551")
    let changed = settings
    changed.mixedType = "Brand New"
    #expect(UserDefaults.standard.object(forKey: "sameKey") is String)
    #expect(settings.mixedType == "Brand New")
    // A new property of the old type finds an unreadable content, and leaves it.
    #expect(Settings().mixedType == "Brand New")
  }

  @Test func failableStorage() {
    Vault.efStorage.number = 5
    let inVault: EFStorageVaultRef = Vault.efStorage.number
    #expect(inVault.content == 5)
    let vault: Vault? = Vault.makeDefault()
    let ofInstance: EFStorageVaultRef = vault!.efStorage.number
    #expect(ofInstance === inVault)
    Vault.isAvailable = false
    defer { Vault.isAvailable = true }
    let without: EFStorageVaultRef = Vault.efStorage.number
    #expect(without.content == nil && without !== inVault)
  }
}
