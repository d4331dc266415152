/// Runs a closure when it is released, to simulate a `deinit` in user code.
package final class LastWish: Sendable {
  private let wish: @Sendable () -> Void

  package init(_ wish: @escaping @Sendable () -> Void) { self.wish = wish }

  deinit { wish() }
}

/// Encodes nothing.
extension LastWish: Codable {
  package convenience init(from decoder: any Decoder) throws { self.init {} }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(0)
  }
}
