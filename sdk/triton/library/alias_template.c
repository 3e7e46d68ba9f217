/* Empty: of this shared object only its name and what it needs count. */
