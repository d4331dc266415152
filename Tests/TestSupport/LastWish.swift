/// Does something when it is released: for what may happen in the `deinit` of somebody's object.
package final class LastWish: Sendable {
  private let wish: @Sendable () -> Void

  package init(_ wish: @escaping @Sendable () -> Void) { self.wish = wish }

  deinit { wish() }
}
