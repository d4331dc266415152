/// Does something when it is released: for what may happen in the `deinit` of somebody's object.
package final class LastWish: Sendable {
  private let wish: @Sendable () -> Void

  package init(_ wish: @escaping @Sendable () -> Void) { self.wish = wish }

  deinit { wish() }
}

/// Its archive says nothing of it.
extension LastWish: Codable {
  package convenience init(from decoder: any Decoder) throws { self.init {} }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(0)
  }
}
