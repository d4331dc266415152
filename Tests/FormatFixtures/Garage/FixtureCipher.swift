package import Foundation
import GarageStorage

/// Not an encryption, but shows whether it was called.
package final class FixtureCipher: DataEncryptionDelegate {
  package init() {}

  package func encrypt(_ data: Data) throws -> String { String(data.base64EncodedString().reversed()) }

  package func decrypt(_ string: String) throws -> Data {
    guard let data = Data(base64Encoded: String(string.reversed())) else { throw POSIXError(.EINVAL) }
    return data
  }
}
