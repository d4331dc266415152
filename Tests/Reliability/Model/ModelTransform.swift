import Foundation
import LMDBCaching

/// Inverts every bit, except in short values.
struct ModelTransform: ValueTransform {
  let identifier: UInt8 = 200

  func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data? {
    bytes.count < 100 ? nil : Data(bytes.map { ~$0 })
  }

  func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data { Data(bytes.map { ~$0 }) }
}
