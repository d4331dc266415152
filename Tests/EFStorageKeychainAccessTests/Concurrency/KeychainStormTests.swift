import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

@Suite struct KeychainStormTests {
  /// Many threads connect at the same time; each uses a private key and a shared one. Nothing is removed
  /// during a query: gnome-keyring-daemon 42 may end itself then ("g_variant_new: expected GVariant of type 'v'").
  @Test func firstUse() throws {
    let session = try KeyringSession.shared.get()
    let options = session.keychain().options
    for _ in 0..<5 {
      let keychain = Keychain(options, store: ItemStore { () throws(KeychainError) in session.address })
      concurrently(16) { thread in
        do {
          let data = Data(repeating: UInt8(thread), count: 3_000 + thread)
          for number in 0..<5 {
            try keychain.set("\(number)", key: "\(thread)")
            try keychain.label("\(number)").set(data, key: "shared")
            #expect(try keychain.get("\(thread)") == "\(number)")
            // Reads are never torn.
            if let read = try keychain.getData("shared") { #expect(Set(read).count == 1 && read.count >= 3_000) }
          }
        } catch { Issue.record(error) }
      }
      #expect(try Set(keychain.keys()).count == 17)
      try keychain.removeAll()
    }
  }
}
