#ifndef CSECRET_SHIM_H
#define CSECRET_SHIM_H

// For the functions that encrypt a secret for a message, and decrypt one: everything else is asked of the bus directly,
// where each call has a time limit. They have been there, unchanged, since libsecret 0.18.
#define SECRET_API_SUBJECT_TO_CHANGE 1

#include <gio/gio.h>
#include <libsecret/secret.h>

// The C library has it, and declares it for GNU sources alone, which Swift's are not.
extern char *secure_getenv(const char *name);

/// A proxy of the Secret Service that has the unique bus name `owner`, on this very connection, with no session yet.
/// Asks nothing of the service. `type` is `SecretService` or a type derived from it. (`g_initable_new` takes variable
/// arguments, which Swift cannot pass.)
static inline SecretService *csecret_service_new(
    GType type, GDBusConnection *connection, const char *owner, GError **error) {
  return (SecretService *)g_initable_new(
      type, NULL, error,
      "g-connection", connection,
      "g-bus-type", G_BUS_TYPE_NONE,
      "g-name", owner,
      "g-flags", G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS
          | G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START,
      "flags", SECRET_SERVICE_NONE,
      NULL);
}

#endif
